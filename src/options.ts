// Options objects refuse keys that they do not have, since a misspelt one would otherwise be ignored in silence.
import { RepriseError, type ErrorCode } from './errors.ts'

/**
 * OPTION_UNKNOWN, with a suggestion, when `options` has a key that is not among `keys`. `inside` names an option that holds
 * the caller's own names: `replay(id, { topic })` is answered with "did you mean { inputs: { topic } }?".
 */
export function checkKeys(what: string, options: unknown, keys: readonly string[], inside?: string): void {
  if (!isRecord(options)) {
    throw new RepriseError('OPTION_UNKNOWN', `${what} takes an object of options, not ${describe(options)}`)
  }
  for (const key of Object.keys(options)) {
    if (keys.includes(key)) continue
    const near = nearest(key, keys)
    const meant = near ?? (inside === undefined || key.length > 80 ? undefined : `{ ${inside}: { ${key} } }`)
    throw new RepriseError(
      'OPTION_UNKNOWN',
      `${what} has no option ${describe(key)}${meant === undefined ? '' : `; did you mean ${meant}?`} (it has ${keys.join(', ')})`,
    )
  }
}

/** Refuses anything but a string with something in it. */
export function checkText(code: ErrorCode, what: string, value: unknown): void {
  if (typeof value !== 'string') throw new RepriseError(code, `${what} must be a string, not ${describe(value)}`)
  if (value.trim() === '') throw new RepriseError(code, `${what} is empty; give it a text`)
}

/** Refuses anything but a string; undefined is fine. */
export function checkString(code: ErrorCode, what: string, value: unknown): void {
  if (value === undefined || typeof value === 'string') return
  throw new RepriseError(code, `${what} must be a string, not ${describe(value)}`)
}

/** Refuses a number outside its range; undefined is fine. */
export function checkNumber(what: string, value: unknown, least: number, most: number = Number.MAX_SAFE_INTEGER): void {
  if (value === undefined) return
  if (typeof value !== 'number' || !(value >= least && value <= most)) {
    throw new RepriseError('OPTION_UNKNOWN', `${what} is ${describe(value)}; give a number ${range(least, most)}`)
  }
}

/** Refuses anything but a whole number in its range; undefined is fine. */
export function checkWhole(what: string, value: unknown, least: number, most: number = Number.MAX_SAFE_INTEGER): void {
  checkNumber(what, value, least, most)
  if (value === undefined || Number.isInteger(value)) return
  throw new RepriseError('OPTION_UNKNOWN', `${what} is ${describe(value)}; give a whole number ${range(least, most)}`)
}

function range(least: number, most: number): string {
  return most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
}

/** Refuses anything but true or false; undefined is fine. */
export function checkFlag(what: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return
  throw new RepriseError('OPTION_UNKNOWN', `${what} is ${describe(value)}; give true or false`)
}

/** Refuses anything but an AbortSignal; undefined is fine. */
export function checkSignal(value: AbortSignal | undefined): AbortSignal | undefined {
  if (value === undefined || typeof (value as AbortSignal | null)?.addEventListener === 'function') return value
  const words = `signal is ${describe(value)}; give an AbortSignal, such as controller.signal`
  throw new RepriseError('OPTION_UNKNOWN', words)
}

/** A moment as stores compare it, from a Date or an ISO 8601 text. OPTION_UNKNOWN. */
export function readTime(what: string, value: unknown): string {
  const time = value instanceof Date ? value : new Date(isoDate.test(String(value)) ? String(value) : Number.NaN)
  if (!Number.isNaN(time.getTime())) return time.toISOString()
  const found = value instanceof Date ? 'a Date without a time' : describe(value)
  throw new RepriseError('OPTION_UNKNOWN', `${what} is ${found}; give a Date, or a text such as 2026-01-31T12:00:00Z`)
}
/** What else Date takes ("1", "May") is seldom what was meant. */
const isoDate = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}\S*)?$/

/** The longest time that a timer takes, in seconds: 24 days. A longer one would go off at once. */
export const longestSeconds = 2_147_483

/** A value as a message shows it: short, on one line. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 77)}...` : value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return kindOf(value)
  return String(value)
}

/** `a Promise`, `an Error`; `an object` for a plain one. */
export function kindOf(value: object): string {
  const made = (value as { readonly constructor?: { readonly name?: unknown } }).constructor
  const name = typeof made === 'function' && made.name !== '' && made !== Object ? made.name : 'object'
  return `${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${name}`
}

/** An object that has members of its own making, or a module's exports: not a list, and no Promise or Map, in which a missing `await` would pass for nothing. */
export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return /^\[object (Object|Module)\]$/.test(Object.prototype.toString.call(value))
}

/** The member of that name which the record itself has: `constructor` and its kin are found on every object. */
export function own<Value>(record: { readonly [name: string]: Value }, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

/** The candidate that a typing mistake most likely meant. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const scored = candidates.map((candidate) => ({
    candidate,
    distance: distance(word.toLowerCase(), candidate.toLowerCase()),
  }))
  const best = scored.toSorted((a, b) => a.distance - b.distance)[0]
  const most = word.length < 4 ? 1 : Math.max(2, Math.floor(word.length / 3))
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
