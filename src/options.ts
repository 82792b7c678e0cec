// Options objects refuse keys that they do not have, since a misspelt one would otherwise be silently ignored.
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
  if (typeof value === 'object' && value !== null) return kindOf(value)
  return String(value)
}

/**
 * Control characters, line breaks, marks of direction and what has no width: a name with these looks like another one,
 * or steers the terminal that shows it.
 */
export const hidden: RegExp = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** In quotes, with what is not seen escaped. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (found) => {
    const code = (found.codePointAt(0) ?? 0).toString(16)
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
  })
}

/** `a Promise`, `an Error`; `an object` for a plain one. */
export function kindOf(value: object): string {
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
export function own<Value>(record: { readonly [name: string]: Value }, name: string): Value | undefined {
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
