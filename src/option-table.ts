// The options of an object, each declared once. A table feeds the names, the checks, the defaults, the suggestions, the
// fields of YAML files and the reference page; the compiler checks that it matches the interface of its options.
import type { Check } from './checks.ts'
import { RepriseError } from './errors.ts'
import { describe, isRecord, nearest, own, refuseUnknown } from './options.ts'

export interface Option<Kept = unknown> {
  readonly takes: Check<Exclude<Kept, undefined>>
  /** One sentence for the reference. */
  readonly does: string
  readonly required?: boolean
  readonly default?: Kept
  /** What applies when it is left out, where that is not a value. */
  readonly leftOut?: string
  /** CrewAI's names for it, where they differ. */
  readonly crewai?: readonly string[]
}

/** What CrewAI has under this name and Reprise does not. */
export interface Lack {
  /** What to do instead. */
  readonly instead?: string
  /** It cannot be switched off here, so false is refused, and true is not. */
  readonly alwaysOn?: true
  /** A crew can do without it: what a file is told that asks for it. Where this is missing, such a file is refused. */
  readonly without?: string
  /** The setting of the model that it is here, in a file. */
  readonly setting?: string
  /** It says how another option works, and requests nothing on its own. */
  readonly detail?: true
}

export interface Names {
  readonly options: { readonly [name: string]: Option }
  readonly lacks: { readonly [crewai: string]: Lack }
}

/** The type of an option as it is kept: that of the finished object, otherwise as it is given. */
export type KeptOptions<Options, Made> = {
  readonly [Name in keyof Options]-?: Name extends keyof Made
    ? Made[Name]
    : Options[Name] | ({} extends Pick<Options, Name> ? undefined : never)
}

/** `More` is what else a row says. A missing row, or one that the interface doesn't have, does not compile. */
export interface Table<Options, Made = unknown, More = unknown> extends Names {
  readonly object: 'agent' | 'task' | 'crew' | 'tool'
  /** What kind of object has these options, where there are several: `with run`. */
  readonly kind?: string
  /** The option that identifies an object. */
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
 * The options as they are kept, with their defaults. OPTION_UNKNOWN says what a name may have meant; OPTION_INVALID, or
 * the code for the kind of value expected, names the option, the value and what is expected.
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

/**
 * OPTION_INVALID for what isn't an object; OPTION_UNKNOWN for a name that is not among `allowed`, with what it is
 * called here.
 */
export function checkNames(
  what: string,
  given: unknown,
  names: Names,
  allowed: readonly string[] = Object.keys(names.options),
): void {
  refuseUnknown(what, given, allowed, (key) => {
    const found = findOption(names, key, allowed)
    if (found) return 'lack' in found ? `: ${lacking(found.lack)}` : `: it's ${describe(found.name)} here`
    const words = new Map(allowed.flatMap((name) => spellings(names, name).map((word) => [word, name])))
    const meant = words.get(nearest(key, [...words.keys()]) ?? '')
    return `${meant === undefined ? '' : `; did you mean ${meant}?`} (it has ${allowed.join(', ')})`
  })
}

/** What a name means: an option, under CrewAI's name or ours in whatever case, or something that Reprise lacks. */
export function findOption(
  names: Names,
  key: string,
  allowed: readonly string[] = Object.keys(names.options),
): { readonly name: string } | { readonly lack: Lack } | undefined {
  const snake = snakeCase(key)
  const name = allowed.find((one) => spellings(names, one).includes(snake))
  if (name !== undefined) return { name }
  const lack = own(names.lacks, snake)
  return lack && { lack }
}

/** How an option may be written in a file: CrewAI's names first. */
export function spellings({ options }: Names, name: string): readonly string[] {
  return [...new Set([...(own(options, name)?.crewai ?? []), snakeCase(name), name])]
}

/** What to say about something that Reprise does not have. */
export function lacking({ alwaysOn, instead }: Lack): string {
  if (alwaysOn) return 'it is always on here; leave it out'
  return `this version of Reprise does not have it; leave it out${instead === undefined ? '' : `, and ${instead}`}`
}

/** Names for which there is nothing to do instead. */
export function nothingFor(...names: readonly string[]): Names['lacks'] {
  return Object.fromEntries(names.map((name) => [name, {}]))
}

/** `maxIterations` as CrewAI would write it: `max_iterations`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
