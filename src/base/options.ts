// The options of an object: unknown keys are refused, since a misspelt one would otherwise be silently ignored. A table
// declares each option once, and feeds the names, the checks, the defaults, the suggestions, the fields of YAML files
// and the reference page; the compiler checks that it matches the interface of its options.
import type { Check } from './checks.ts'
import { RepriseError } from './errors.ts'

/**
 * OPTION_INVALID for what isn't an object. OPTION_UNKNOWN, with a suggestion, when it has a key that is not among
 * `keys`. `inside` names an option that holds the caller's own names: `replay(id, { topic })` is answered with "did you
 * mean { inputs: { topic } }?".
 */
export function checkKeys(what: string, options: unknown, keys: readonly string[], inside?: string): void {
  refuseUnknown(what, options, keys, (key) => {
    const within = inside === undefined || key.length > 80 ? '' : `; did you mean { ${inside}: { ${key} } }?`
    return `${guess(key, keys) || within} (it has ${keys.join(', ')})`
  })
}

/** As `checkKeys`, with the caller's own words about a key that is not there. */
export function refuseUnknown(
  what: string,
  options: unknown,
  keys: readonly string[],
  about: (key: string) => string,
): void {
  if (!isRecord(options)) {
    throw new RepriseError('OPTION_INVALID', `${what} takes an object of options, not ${describe(options)}`)
  }
  const unknown = Object.keys(options).find((key) => !keys.includes(key))
  if (unknown === undefined) return
  throw new RepriseError('OPTION_UNKNOWN', `${what} has no option ${describe(unknown)}${about(unknown)}`)
}

/** A value as a message shows it: short, on one line. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return quoted(value.length > 80 ? `${value.slice(0, 77)}...` : value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return describeObject(value)
  return String(value)
}

/**
 * Control characters, line breaks, marks of direction and what has no width: a name with these looks like another one,
 * or steers the terminal that shows it.
 */
export const hiddenCharacters: RegExp = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** In quotes, with what is not seen escaped. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (found) => {
    const code = (found.codePointAt(0) ?? 0).toString(16)
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
  })
}

/** `a Promise`, `an Error`; `an object` for a plain one. */
export function describeObject(value: object): string {
  const made = (value as { readonly constructor?: { readonly name?: unknown } }).constructor
  const name = typeof made === 'function' && made.name !== '' && made !== Object ? made.name : 'object'
  return `${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${name}`
}

/**
 * A plain object, or a module's exports: not a list, and not a Promise or Map, or a missing `await` would look like an
 * empty object.
 */
export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return /^\[object (Object|Module)\]$/.test(Object.prototype.toString.call(value))
}

/** The record's own member of that name: `constructor` and the like are found on every object. */
export function ownMember<Value>(record: { readonly [name: string]: Value }, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

/** The candidate that was most likely meant, as the end of a message; empty if there is none. */
export function guess(word: string, candidates: readonly string[]): string {
  const near = nearest(word, candidates)
  return near === undefined ? '' : `; did you mean ${near}?`
}

/** The candidate that a typing mistake most likely meant. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const most = word.length < 4 ? 1 : Math.max(2, Math.floor(word.length / 3))
  // one whose length differs by more cannot be nearer
  const [best] = candidates
    .filter((candidate) => Math.abs(candidate.length - word.length) <= most)
    .map((candidate) => ({ candidate, distance: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance)
  if (best && best.distance <= most && best.distance < word.length) return best.candidate
  // the beginning of a longer word: maxAge for maxAgeSeconds
  return candidates.find((candidate) => word.length > 3 && candidate.startsWith(word))
}

/** Levenshtein: how many letters to change, add or remove. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same))
    }
    row = next
  }
  return row[b.length] ?? 0
}

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
export interface MissingFeature {
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

export interface OptionNames {
  readonly options: { readonly [name: string]: Option }
  readonly lacks: { readonly [crewai: string]: MissingFeature }
}

/** The type of an option as it is kept: that of the finished object, otherwise as it is given. */
export type OptionValues<Options, Made> = {
  readonly [Name in keyof Options]-?: Name extends keyof Made
    ? Made[Name]
    : Options[Name] | ({} extends Pick<Options, Name> ? undefined : never)
}

/** `More` is what else a row says. A missing row, or one that the interface doesn't have, does not compile. */
export interface Table<Options, Made = unknown, More = unknown> extends OptionNames {
  readonly object: 'agent' | 'task' | 'crew' | 'tool'
  /** What kind of object has these options, where there are several: `with run`. */
  readonly kind?: string
  /** The option that identifies an object. */
  readonly called: keyof Options & string
  readonly options: {
    readonly [Name in keyof Options]-?: Option<OptionValues<Options, Made>[Name]> &
      ({} extends Pick<Options, Name>
        ? { readonly required?: false } & WithDefault<OptionValues<Options, Made>[Name]>
        : { readonly required: true }) &
      More
  }
}

/** Where an object always has the option, its table has the default. */
export type WithDefault<Kept> = undefined extends Kept ? unknown : { readonly default: Kept }

/**
 * The options as they are kept, with their defaults. OPTION_UNKNOWN says what a name may have meant; OPTION_INVALID, or
 * the code for the kind of value expected, names the option, the value and what is expected.
 */
export function readOptions<Options, Made>(table: Table<Options, Made>, options: unknown): OptionValues<Options, Made> {
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
  return Object.fromEntries(kept) as OptionValues<Options, Made>
}

/**
 * OPTION_INVALID for what isn't an object; OPTION_UNKNOWN for a name that is not among `allowed`, with what it is
 * called here.
 */
export function checkNames(
  what: string,
  given: unknown,
  names: OptionNames,
  allowed: readonly string[] = Object.keys(names.options),
): void {
  refuseUnknown(what, given, allowed, (key) => {
    const found = findOption(names, key, allowed)
    if (found) return 'lack' in found ? `: ${missingFeatureText(found.lack)}` : `: it's ${describe(found.name)} here`
    const words = new Map(allowed.flatMap((name) => spellings(names, name).map((word) => [word, name])))
    const meant = words.get(nearest(key, [...words.keys()]) ?? '')
    return `${meant === undefined ? '' : `; did you mean ${meant}?`} (it has ${allowed.join(', ')})`
  })
}

/** What a name means: an option, under CrewAI's name or ours in whatever case, or something that Reprise lacks. */
export function findOption(
  names: OptionNames,
  key: string,
  allowed: readonly string[] = Object.keys(names.options),
): { readonly name: string } | { readonly lack: MissingFeature } | undefined {
  const snake = snakeCase(key)
  const name = allowed.find((one) => spellings(names, one).includes(snake))
  if (name !== undefined) return { name }
  const lack = ownMember(names.lacks, snake)
  return lack && { lack }
}

/** How an option may be written in a file: CrewAI's names first. */
export function spellings({ options }: OptionNames, name: string): readonly string[] {
  return [...new Set([...(ownMember(options, name)?.crewai ?? []), snakeCase(name), name])]
}

/** What to say about something that Reprise does not have. */
export function missingFeatureText({ alwaysOn, instead }: MissingFeature): string {
  if (alwaysOn) return 'it is always on here; leave it out'
  return `this version of Reprise does not have it; leave it out${instead === undefined ? '' : `, and ${instead}`}`
}

/** Names for which there is nothing to do instead. */
export function missingFeatures(...names: readonly string[]): OptionNames['lacks'] {
  return Object.fromEntries(names.map((name) => [name, {}]))
}

/** `maxIterations` as CrewAI would write it: `max_iterations`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
