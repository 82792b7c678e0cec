// JSON values, and the two ways into them. Everything that a run sees passes through here first, so that a resumed run
// sees exactly what the live one saw.
import { kindOf } from '../options.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A place inside a value, as a person would write it: `inputs.claims[2].date`. */
type Path = string

export type JsonCheck =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly path: Path; readonly found: string }

/**
 * Copies a value that JSON carries without change, or says where the first thing stands that it does not carry: a Date, bigint,
 * NaN, Map, function, class instance or cycle. An undefined member is left out, as JSON does. What `stand` gives for an object
 * takes its place.
 */
export function strictJson(value: unknown, at: Path, stand?: Stand): JsonCheck {
  try {
    return walk(value, at, new Set(), stand)
  } catch {
    // the stack is over, or a getter threw
    return { ok: false, path: at, found: 'a value that is nested too deeply or cannot be read' }
  }
}

/**
 * What JSON makes of a value (a Date becomes its ISO string, as JSON.stringify has it), or where it cannot: a bigint, a cycle, a
 * toJSON that throws. `undefined` becomes null.
 */
export function throughJson(value: unknown, at: Path): JsonCheck {
  try {
    const text = JSON.stringify(value)
    return { ok: true, value: text === undefined ? null : (JSON.parse(text) as Json) }
  } catch {
    return findUnreadable(value, at) ?? { ok: false, path: at, found: 'a value that JSON.stringify refuses' }
  }
}

type Stand = (value: object, at: Path) => Json | undefined

function walk(value: unknown, at: Path, above: Set<object>, stand?: Stand): JsonCheck {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed()
        ? { ok: true, value }
        : { ok: false, path: at, found: 'a string with a lone surrogate' }
    case 'boolean':
      return { ok: true, value }
    case 'number':
      return Number.isFinite(value)
        ? { ok: true, value: value === 0 ? 0 : value }
        : { ok: false, path: at, found: String(value) }
    case 'object':
      break
    default:
      return { ok: false, path: at, found: value === undefined ? 'undefined' : `a ${typeof value}` }
  }
  if (value === null) return { ok: true, value }
  const other = stand?.(value, at)
  if (other !== undefined) return { ok: true, value: other }
  if (above.has(value)) return { ok: false, path: at, found: 'a reference back to a value that contains it' }
  above.add(value)
  const result = Array.isArray(value) ? walkArray(value, at, above, stand) : walkObject(value, at, above, stand)
  above.delete(value)
  return result
}

function walkArray(value: readonly unknown[], at: Path, above: Set<object>, stand?: Stand): JsonCheck {
  const copy: Json[] = []
  for (let index = 0; index < value.length; index++) {
    const item = walk(value[index], `${at}[${index}]`, above, stand)
    if (!item.ok) return item
    copy.push(item.value)
  }
  return { ok: true, value: copy }
}

function walkObject(value: object, at: Path, above: Set<object>, stand?: Stand): JsonCheck {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return { ok: false, path: at, found: kindOf(value) }
  const copy: Record<string, Json> = {}
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue
    const item = walk(member, memberPath(at, key), above, stand)
    if (!item.ok) return item
    // defineProperty, since a plain assignment to __proto__ would set the prototype and lose the member
    Object.defineProperty(copy, key, { value: item.value, enumerable: true, configurable: true, writable: true })
  }
  return { ok: true, value: copy }
}

/** Looking may fail like JSON.stringify did: on a getter that throws, on a depth that the stack does not have. */
function findUnreadable(value: unknown, at: Path): JsonCheck | undefined {
  try {
    return firstUnreadable(value, at, new Set())
  } catch {
    return undefined
  }
}

function firstUnreadable(value: unknown, at: Path, above: Set<object>): JsonCheck | undefined {
  if (typeof value === 'bigint') return { ok: false, path: at, found: 'a bigint' }
  if (typeof value !== 'object' || value === null) return undefined
  if (above.has(value)) return { ok: false, path: at, found: 'a reference back to a value that contains it' }
  above.add(value)
  for (const [key, member] of Object.entries(value)) {
    const found = firstUnreadable(member, Array.isArray(value) ? `${at}[${key}]` : memberPath(at, key), above)
    if (found) return found
  }
  above.delete(value)
  return undefined
}

/** `inputs.topic`, and `inputs["two words"]` for a name that cannot stand behind a dot. */
export function memberPath(at: Path, key: string): Path {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `${at}.${key}` : `${at}[${JSON.stringify(key)}]`
}

/** RFC 8785: members sorted by UTF-16 code units, no white space; equal values have equal texts. */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const members = Object.keys(value)
    .toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] as Json)}`)
  return `{${members.join(',')}}`
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

/** The object that a text is in JSON; undefined for any other text. */
export function parseObject(text: string): { readonly [key: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as { readonly [key: string]: unknown })
      : undefined
  } catch {
    return undefined
  }
}
