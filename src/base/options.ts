// Reads option objects and other values from callers. Unknown keys are refused, because a misspelt key would otherwise
// be ignored. A table declares each option once: names, checks, defaults, suggestions, fields of YAML files and the
// reference page are derived from it. The compiler checks that the table matches the interface of the options.
import { RepriseError } from './errors.ts'

/**
 * Throws OPTION_INVALID for a value that isn't an object; OPTION_UNKNOWN, with a suggestion, for a key that isn't among
 * `keys`. `inside`: an option that takes any keys, for suggestions such as "did you mean { inputs: { topic } }?".
 */
export function checkKeys(what: string, options: unknown, keys: readonly string[], inside?: string): void {
  refuseUnknown(what, options, keys, (key) => {
    const within = inside === undefined || key.length > 80 ? '' : `; did you mean { ${inside}: { ${key} } }?`
    return `${guess(key, keys) || within} (it has ${keys.join(', ')})`
  })
}

/** As `checkKeys`; `hint` returns what follows the name of an unknown key in the message. */
function refuseUnknown(what: string, options: unknown, keys: readonly string[], hint: (key: string) => string): void {
  if (!isRecord(options)) {
    throw new RepriseError('OPTION_INVALID', `${what} takes an object of options, not ${describe(options)}`)
  }
  const unknown = Object.keys(options).find((key) => !keys.includes(key))
  if (unknown === undefined) return
  throw new RepriseError('OPTION_UNKNOWN', `${what} has no option ${describe(unknown)}${hint(unknown)}`)
}

/** Describes a value in a message: short, on one line. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return quoted(value.length > 80 ? `${value.slice(0, 77)}...` : value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return describeObject(value)
  return String(value)
}

/**
 * Control characters, line breaks, direction marks and zero-width characters. A name with these can look like another
 * name, or control the terminal that prints it.
 */
export const hiddenCharacters: RegExp = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** Quotes a string, with invisible characters escaped. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (found) => {
    const code = (found.codePointAt(0) ?? 0).toString(16)
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
  })
}

/** `a Promise`, `an Error`; a plain object is `an object`. */
export function describeObject(value: object): string {
  const made = (value as { readonly constructor?: { readonly name?: unknown } }).constructor
  const name = typeof made === 'function' && made.name !== '' && made !== Object ? made.name : 'object'
  return `${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${name}`
}

/**
 * Whether a value can be an object of options: a plain object, an instance of a user's class, or a module namespace. A
 * list or a Promise can't be, or a forgotten `await` would look like an empty object.
 */
export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return /^\[object (Object|Module)\]$/.test(Object.prototype.toString.call(value))
}

/** The record's own member with a name: unlike `record[name]`, never an inherited member such as `constructor`. */
export function ownMember<Value>(record: { readonly [name: string]: Value }, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

/** The most similar candidate as the end of a message: `; did you mean …?`. Empty if none is similar. */
export function guess(word: string, candidates: readonly string[]): string {
  const suggested = nearest(word, candidates)
  return suggested === undefined ? '' : `; did you mean ${suggested}?`
}

/** The candidate that is most similar to a misspelt word. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const maxDistance = word.length < 4 ? 1 : Math.max(2, Math.floor(word.length / 3))
  // the distance is at least the difference in length
  const [best] = candidates
    .filter((candidate) => Math.abs(candidate.length - word.length) <= maxDistance)
    .map((candidate) => ({ candidate, distance: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance)
  if (best && best.distance <= maxDistance && best.distance < word.length) return best.candidate
  // the beginning of a longer word: maxAge for maxAgeSeconds
  return candidates.find((candidate) => word.length > 3 && candidate.startsWith(word))
}

/** The Levenshtein distance: how many characters to change, add or remove. */
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
  /** What leaving the option out means, in words, if there is no default value. */
  readonly leftOut?: string
  /** CrewAI's names for the option, if they differ. */
  readonly crewai?: readonly string[]
}

/** An option of CrewAI that Reprise doesn't have. */
export interface MissingFeature {
  /** What to do instead, as an imperative. */
  readonly instead?: string
  /** Reprise always does this: true is accepted, false is refused. */
  readonly alwaysOn?: true
  /** A warning for files that use it: the crew works without it. If there is no warning, such files are refused. */
  readonly without?: string
  /** The model setting that replaces it in a file. */
  readonly setting?: string
  /** It only configures another option, and has no effect on its own. */
  readonly detail?: true
}

export interface OptionNames {
  readonly options: { readonly [name: string]: Option }
  readonly lacks: { readonly [crewai: string]: MissingFeature }
}

/** The types of checked options: as in the finished object (`Made`), or else as declared. */
export type OptionValues<Options, Made> = {
  readonly [Name in keyof Options]-?: Name extends keyof Made
    ? Made[Name]
    : Options[Name] | ({} extends Pick<Options, Name> ? undefined : never)
}

/** The options of an object, one row each. Missing and surplus rows don't compile. `More`: further columns. */
export interface Table<Options, Made = unknown, More = unknown> extends OptionNames {
  readonly object: 'agent' | 'task' | 'crew' | 'tool' | 'flow'
  /** The variant of the object that has these options, if there are several: `with run`. */
  readonly kind?: string
  /** The option that names the object in messages. */
  readonly called: keyof Options & string
  readonly options: {
    readonly [Name in keyof Options]-?: Option<OptionValues<Options, Made>[Name]> &
      ({} extends Pick<Options, Name>
        ? { readonly required?: false } & WithDefault<OptionValues<Options, Made>[Name]>
        : { readonly required: true }) &
      More
  }
}

/** An option that the finished object always has needs a default. */
export type WithDefault<Kept> = undefined extends Kept ? unknown : { readonly default: Kept }

/**
 * Checks options and fills in defaults. Throws OPTION_UNKNOWN, with similar names; OPTION_INVALID, or another code for
 * special types of values, with the option, the value and what is expected.
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

/** Throws OPTION_INVALID for a value that isn't an object; OPTION_UNKNOWN for a name that isn't among `allowed`. */
export function checkNames(
  what: string,
  given: unknown,
  names: OptionNames,
  allowed: readonly string[] = Object.keys(names.options),
): void {
  refuseUnknown(what, given, allowed, (key) => {
    const found = findOption(names, key, allowed)
    if (found) return 'lack' in found ? `: ${missingFeatureText(found.lack)}` : `: it's ${describe(found.name)} here`
    const bySpelling = new Map(allowed.flatMap((name) => spellings(names, name).map((spelling) => [spelling, name])))
    const suggested = bySpelling.get(nearest(key, [...bySpelling.keys()]) ?? '')
    return `${suggested === undefined ? '' : `; did you mean ${suggested}?`} (it has ${allowed.join(', ')})`
  })
}

/** Finds an option, or a missing feature, by its name in Reprise or CrewAI, in camelCase or snake_case. */
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

/** The names under which a file may have an option, CrewAI's names first. */
export function spellings({ options }: OptionNames, name: string): readonly string[] {
  return [...new Set([...(ownMember(options, name)?.crewai ?? []), snakeCase(name), name])]
}

/** The message about a missing feature. */
export function missingFeatureText({ alwaysOn, instead }: MissingFeature): string {
  if (alwaysOn) return 'it is always on here; leave it out'
  return `this version of Reprise does not have it; leave it out${instead === undefined ? '' : `, and ${instead}`}`
}

/** Rows for missing features without a replacement. */
export function missingFeatures(...names: readonly string[]): OptionNames['lacks'] {
  return Object.fromEntries(names.map((name) => [name, {}]))
}

/** `maxIterations` as CrewAI would write it: `max_iterations`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

// Checks of single values. Each has one description of what it expects, for messages and the reference.

export interface Check<Kept = unknown> {
  /** What is expected, for messages and the reference: `a whole number of at least 1`. */
  readonly expected: string
  /**
   * Returns the checked value. `what` names it: `retries of task "note"`. Throws OPTION_INVALID, or another code for
   * special types of values.
   */
  read(what: string, value: unknown): Kept
}

/** Creates a check that returns the value unchanged. */
export function check<Kept>(expected: string, fits: (value: unknown) => boolean): Check<Kept> {
  return {
    expected,
    read(what, value) {
      if (fits(value)) return value as Kept
      throw wrong(what, value, expected)
    },
  }
}

/** The error OPTION_INVALID for a value, with what is expected instead. */
export function wrong(what: string, value: unknown, expected: string): RepriseError {
  return new RepriseError('OPTION_INVALID', `${what} is ${describe(value)}; give ${expected}`)
}

/** Checks a value that may be undefined. */
export function optional<Kept>(what: string, value: unknown, by: Check<Kept>): Kept | undefined {
  return value === undefined ? undefined : by.read(what, value)
}

export const anyText: Check<string> = check('a string', (value) => typeof value === 'string')

export const text: Check<string> = check(
  'a non-empty string',
  (value) => typeof value === 'string' && value.trim() !== '',
)

/** The name of a process or person in log lines and tables. */
export const shortName: Check<string> = check(
  'a name of 1 to 100 characters, without spaces around it and without control characters',
  (value) => typeof value === 'string' && value.trim() === value && /^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u.test(value),
)

export const flag: Check<boolean> = check('true or false', (value) => typeof value === 'boolean')

export const func: Check<never> = check('a function', (value) => typeof value === 'function')

export const abortSignal: Check<AbortSignal> = check(
  'an AbortSignal, such as controller.signal',
  (value) => typeof (value as AbortSignal | null)?.addEventListener === 'function',
)

export function number(least: number, most: number = Number.MAX_SAFE_INTEGER): Check<number> {
  return check(`a number${range(least, most)}`, (value) => isBetween(value, least, most))
}

export function whole(least: number, most: number = Number.MAX_SAFE_INTEGER): Check<number> {
  return check(
    `a whole number${range(least, most)}`,
    (value) => Number.isInteger(value) && isBetween(value, least, most),
  )
}

/** The longest timer, in seconds: 24 days. Longer timers would fire at once. */
export const longestSeconds = 2_147_483

export const seconds: Check<number> = check(`seconds, from 0.001 to ${longestSeconds}`, (value) =>
  isBetween(value, 0.001, longestSeconds),
)

export function oneOf<Value extends string>(values: readonly Value[]): Check<Value> {
  const names = values.map((value) => `'${value}'`)
  const last = names.pop() ?? ''
  const expected = names.length === 0 ? last : `${names.join(', ')} or ${last}`
  return check(expected, (value) => values.includes(value as Value))
}

/** Creates a check of one value or a list of values, which returns a list. */
export function oneOrMore<Kept>(one: Check<Kept>): Check<readonly Kept[]> {
  return {
    expected: `${one.expected}, or a list of those`,
    read(what, value) {
      if (!Array.isArray(value)) return [one.read(what, value)]
      return Array.from(value as readonly unknown[]).map((item, index) =>
        one.read(`item ${index + 1} of ${what}`, item),
      )
    },
  }
}

/**
 * Creates a check of a list. `itemExpected`: what each item must be, such as `the task itself`. A hole in a list counts
 * as undefined.
 */
export function listOf<Item>(
  expected: string,
  itemExpected: string,
  fits: (item: unknown) => boolean,
): Check<readonly Item[]> {
  return {
    expected,
    read(what, value) {
      if (!Array.isArray(value)) throw wrong(what, value, expected)
      const at = Array.from(value as readonly unknown[]).findIndex((item) => !fits(item))
      if (at >= 0) throw wrong(`item ${at + 1} of ${what}`, (value as readonly unknown[])[at], itemExpected)
      return value as readonly Item[]
    },
  }
}

/** Accepts a Date or a string, and returns the time as `toISOString` writes it: stores compare times as text. */
export const time: Check<string> = {
  expected: 'a Date, or a string such as 2026-01-31T12:00:00Z',
  read(what, value) {
    const moment = value instanceof Date ? value : new Date(isoDate.test(String(value)) ? String(value) : Number.NaN)
    if (!Number.isNaN(moment.getTime())) return moment.toISOString()
    if (!(value instanceof Date)) throw wrong(what, value, time.expected)
    throw new RepriseError('OPTION_INVALID', `${what} is a Date without a time; give ${time.expected}`)
  },
}
/** Stricter than Date, which also accepts "1" and "May". */
const isoDate = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}\S*)?$/

function isBetween(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most
}

function range(least: number, most: number): string {
  if (most !== Number.MAX_SAFE_INTEGER) return ` from ${least} to ${most}`
  return least === Number.MIN_SAFE_INTEGER ? '' : ` of at least ${least}`
}

type Defined<Fields> = { [K in keyof Fields as undefined extends Fields[K] ? never : K]: Fields[K] } & {
  [K in keyof Fields as undefined extends Fields[K] ? K : never]?: Exclude<Fields[K], undefined>
}

/** Copies an object without its undefined fields, so that these aren't written or compared. */
export function defined<const Fields extends object>(fields: Fields): Defined<Fields> {
  const copy: { [name: string]: unknown } = {}
  for (const name of Object.keys(fields)) {
    const value: unknown = fields[name as keyof Fields]
    if (value !== undefined) copy[name] = value
  }
  return copy as Defined<Fields>
}
