// The options of an object, each declared once. A table feeds the names, the checks, the defaults, the suggestions, the fields of YAML
// files and the reference page; the compiler holds it equal to the interface of its options.
import type { Check } from './checks.ts'
import { RepriseError } from './errors.ts'
import { describe, isRecord, nearest, own } from './options.ts'

export interface Option<Kept = unknown> {
  readonly takes: Check<Exclude<Kept, undefined>>
  /** One sentence for the reference. */
  readonly does: string
  readonly required?: boolean
  readonly default?: Kept
  /** What holds when it is left out, where that is not a value. */
  readonly leftOut?: string
  /** CrewAI's names for it, where they are not this one. */
  readonly crewai?: readonly string[]
}

/** What CrewAI has under this name and Reprise does not. */
export interface Lack {
  /** What to do instead. */
  readonly instead?: string
  /** It cannot be switched off here; so false is what is refused, and not true. */
  readonly alwaysOn?: true
  /** It says how another option works, and asks for nothing by itself. */
  readonly detail?: true
}

export interface Names {
  readonly options: { readonly [name: string]: Option }
  readonly lacks: { readonly [crewai: string]: Lack }
}

/** The type of an option as it is kept: that of the object which is made, else as it is given. */
export type KeptOptions<Options, Made> = {
  readonly [Name in keyof Options]-?: Name extends keyof Made
    ? Made[Name]
    : Options[Name] | ({} extends Pick<Options, Name> ? undefined : never)
}

/** `More` is what else a row says. One row less than the interface has, or one more, does not compile. */
export interface Table<Options, Made = unknown, More = unknown> extends Names {
  readonly object: 'agent' | 'task' | 'crew' | 'tool'
  /** What kind of object has these options, where there are several: `with run`. */
  readonly kind?: string
  /** The option that tells one object from another. */
  readonly called: keyof Options & string
  readonly options: {
    readonly [Name in keyof Options]-?: Option<KeptOptions<Options, Made>[Name]> &
      ({} extends Pick<Options, Name>
        ? { readonly required?: false } & Filled<KeptOptions<Options, Made>[Name]>
        : { readonly required: true }) &
      More
  }
}

/** Where an object always has the option, its table has the default. */
export type Filled<Kept> = undefined extends Kept ? unknown : { readonly default: Kept }

/**
 * The options as they are kept, with their defaults. OPTION_UNKNOWN says what a name may have meant; OPTION_INVALID, or the code of what
 * a value should have been, names the option, the value and what is expected.
 */
export function readOptions<Options, Made>(table: Table<Options, Made>, options: unknown): KeptOptions<Options, Made> {
  const { object, called } = table
  const one = `${object === 'agent' ? 'an' : 'a'} ${object}`
  const given = isRecord(options) ? options : {}
  const name = given[called]
  const what = typeof name === 'string' && name.trim() !== '' ? `${object} ${describe(name)}` : one
  checkNames(table.kind === undefined ? what : `${what} ${table.kind}`, options, table)
  const kept = Object.entries<Option>(table.options).map(([key, option]) => {
    const value = given[key]
    const whose = key === called ? one : what
    if (value !== undefined) return [key, option.takes.read(`${key} of ${whose}`, value)]
    if (!option.required) return [key, option.default]
    throw new RepriseError('OPTION_INVALID', `${whose} has no ${key}; give ${option.takes.expected}`)
  })
  return Object.fromEntries(kept) as KeptOptions<Options, Made>
}

/** OPTION_UNKNOWN for a name that is not among `allowed`, with what it is called here. */
export function checkNames(
  what: string,
  given: unknown,
  names: Names,
  allowed: readonly string[] = Object.keys(names.options),
): void {
  if (!isRecord(given)) {
    throw new RepriseError('OPTION_INVALID', `${what} takes an object of options, not ${describe(given)}`)
  }
  const unknown = Object.keys(given).find((key) => !allowed.includes(key))
  if (unknown === undefined) return
  throw new RepriseError(
    'OPTION_UNKNOWN',
    `${what} has no option ${describe(unknown)}${meantBy(unknown, names, allowed)}`,
  )
}

function meantBy(key: string, { options, lacks }: Names, allowed: readonly string[]): string {
  const snake = snakeCase(key)
  const spellings = allowed.flatMap((name) =>
    [...new Set([name, snakeCase(name), ...(own(options, name)?.crewai ?? [])])].map((word) => ({ word, name })),
  )
  const same = spellings.find(({ word }) => word === snake)
  if (same) return `: it's ${describe(same.name)} here`
  const lack = own(lacks, snake)
  if (lack) return `: ${lacking(lack)}`
  const near = nearest(
    key,
    spellings.map(({ word }) => word),
  )
  const meant = spellings.find(({ word }) => word === near)?.name
  return `${meant === undefined ? '' : `; did you mean ${meant}?`} (it has ${allowed.join(', ')})`
}

/** What to say of something that Reprise does not have. */
export function lacking({ alwaysOn, instead }: Lack): string {
  if (alwaysOn) return 'it is always on here; leave it out'
  return `this version of Reprise does not have it; leave it out${instead === undefined ? '' : `, and ${instead}`}`
}

/** `maxIterations` as CrewAI would write it: `max_iterations`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
