// A small set of named checks for values from callers. Each words what it expects once, for messages and the reference.
// Separate from options.ts, because bundlers cannot drop constants that are the result of a call.
import { RepriseError } from './errors.ts'
import { describe } from './options.ts'

export interface Check<Kept = unknown> {
  /** What is expected, for messages and the reference: `a whole number of at least 1`. */
  readonly expected: string
  /**
   * Returns the value to keep. `what` names it: `retries of task "note"`. OPTION_INVALID, or another code for special
   * types of values.
   */
  read(what: string, value: unknown): Kept
}

/** A check that keeps the value as it is. */
export function check<Kept>(expected: string, fits: (value: unknown) => boolean): Check<Kept> {
  return {
    expected,
    read(what, value) {
      if (fits(value)) return value as Kept
      throw wrong(what, value, expected)
    },
  }
}

/** OPTION_INVALID, with the value and what is expected. */
export function wrong(what: string, value: unknown, expected: string): RepriseError {
  return new RepriseError('OPTION_INVALID', `${what} is ${describe(value)}; give ${expected}`)
}

/** Reads an optional option. */
export function optional<Kept>(what: string, value: unknown, by: Check<Kept>): Kept | undefined {
  return value === undefined ? undefined : by.read(what, value)
}

export const anyText: Check<string> = check('a text', (value) => typeof value === 'string')

export const text: Check<string> = check(
  'a text that is not empty',
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
  return check(`a number${range(least, most)}`, (value) => within(value, least, most))
}

export function whole(least: number, most: number = Number.MAX_SAFE_INTEGER): Check<number> {
  return check(`a whole number${range(least, most)}`, (value) => Number.isInteger(value) && within(value, least, most))
}

/** The longest time of a timer, in seconds: 24 days. Longer timers would fire at once. */
export const longestSeconds = 2_147_483

export const seconds: Check<number> = check(`seconds, from 0.001 to ${longestSeconds}`, (value) =>
  within(value, 0.001, longestSeconds),
)

export function oneOf<Value extends string>(values: readonly Value[]): Check<Value> {
  const quoted = values.map((value) => `'${value}'`)
  const last = quoted.pop() ?? ''
  const expected = quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`
  return check(expected, (value) => values.includes(value as Value))
}

/** One value or a list of them, kept as a list. */
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

/** `itemExpected`: what each item must be, such as `the task itself`. A hole in the list counts as undefined. */
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

/** A time, kept in the form that stores compare. */
export const time: Check<string> = {
  expected: 'a Date, or a text such as 2026-01-31T12:00:00Z',
  read(what, value) {
    const moment = value instanceof Date ? value : new Date(isoDate.test(String(value)) ? String(value) : Number.NaN)
    if (!Number.isNaN(moment.getTime())) return moment.toISOString()
    if (!(value instanceof Date)) throw wrong(what, value, time.expected)
    throw new RepriseError('OPTION_INVALID', `${what} is a Date without a time; give ${time.expected}`)
  },
}
/** Stricter than Date, which also accepts "1" and "May". */
const isoDate = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}\S*)?$/

function within(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most
}

function range(least: number, most: number): string {
  if (most !== Number.MAX_SAFE_INTEGER) return ` from ${least} to ${most}`
  return least === Number.MIN_SAFE_INTEGER ? '' : ` of at least ${least}`
}
