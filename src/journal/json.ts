// JSON values, and the two ways to make one: `strictJson` and `throughJson`. Everything that a run sees passes through
// one of them first, so a resumed run sees exactly what the live one saw.
import { describeObject } from '../base/options.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A path into a value, as in code: `inputs.claims[2].date`. */
type Path = string

export type JsonCheck =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly path: Path; readonly found: string }

/**
 * How deep lists and objects may be nested in a value from outside. Code that walks values, including JSON.stringify
 * and schemas, overflows the stack after a few thousand levels, and each version of Node at another depth.
 */
export const nestingLimit = 256

/**
 * Copies a value that JSON represents exactly, or returns the path of the first part that it can't represent: a Date,
 * bigint, NaN, Map, function, class instance, lone surrogate or cycle, or more levels than `nestingLimit`. Undefined
 * members are left out, as in JSON. If `replace` returns a value for an object, that value is used instead.
 */
export function strictJson(value: unknown, at: Path, replace?: Replace): JsonCheck {
  return check(value, at, { above: new Set(), replace })
}

/**
 * Converts a value as JSON.stringify does (a Date becomes its ISO string), or returns the path of the first part that
 * it can't convert: a bigint, a cycle, a toJSON that throws, more levels than `nestingLimit`, or anything that JSON
 * would silently turn into `{}`, such as a Map, an Error or an instance with only private members. `undefined` as the
 * whole value becomes null.
 */
export function throughJson(value: unknown, at: Path): JsonCheck {
  return check(value, at, { above: new Set(), replace: undefined, loose: true })
}

/** Whether a value from JSON.parse is nested more than `levels` deep. */
export function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isNestedDeeper(member, levels - 1))
}

/** Whether a JSON text has enough brackets to be nested more than `levels` deep. Faster than walking the value. */
export function mayNestDeeper(text: string, levels: number): boolean {
  let count = 0
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) if (++count > levels) return true
  }
  return false
}

type Replace = (value: object, at: Path) => Json | undefined

interface Walk {
  /** The lists and objects around the value. */
  readonly above: Set<object>
  readonly replace: Replace | undefined
  /** Whether to convert values as JSON.stringify does, instead of refusing them. */
  readonly loose?: boolean
}

function check(value: unknown, at: Path, walking: Walk): JsonCheck {
  try {
    const result = walk(walking.loose ? (loosened(value, '') ?? null) : value, at, walking)
    if (result.ok || result.path.length <= longestPath) return result
    return { ...result, path: `${result.path.slice(0, longestPath - 3)}...` }
  } catch {
    // a getter or a toJSON threw
    return { ok: false, path: at, found: 'a value that cannot be read' }
  }
}
const longestPath = 80

function walk(value: unknown, at: Path, walking: Walk): JsonCheck {
  switch (typeof value) {
    case 'string':
      return walking.loose || value.isWellFormed()
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
  const { above, replace } = walking
  const other = replace?.(value, at)
  if (other !== undefined) return { ok: true, value: other }
  if (above.has(value)) return { ok: false, path: at, found: 'a reference back to a value that contains it' }
  if (above.size === nestingLimit) return { ok: false, path: at, found: `nested more than ${nestingLimit} levels deep` }
  above.add(value)
  const result = Array.isArray(value) ? walkArray(value, at, walking) : walkObject(value, at, walking)
  above.delete(value)
  return result
}

function walkArray(value: readonly unknown[], at: Path, walking: Walk): JsonCheck {
  const copy: Json[] = []
  for (let index = 0; index < value.length; index++) {
    const given = walking.loose ? (loosened(value[index], `${index}`) ?? null) : value[index]
    const item = walk(given, `${at}[${index}]`, walking)
    if (!item.ok) return item
    copy.push(item.value)
  }
  return { ok: true, value: copy }
}

function walkObject(value: object, at: Path, walking: Walk): JsonCheck {
  const members = Object.entries(value)
  const isRepresentable = walking.loose ? survivesJson(value, members.length) : isPlain(value)
  if (!isRepresentable) return { ok: false, path: at, found: describeObject(value) }
  const copy: Record<string, Json> = {}
  for (const [key, given] of members) {
    const member = walking.loose ? loosened(given, key) : given
    if (member === undefined) continue
    const item = walk(member, memberPath(at, key), walking)
    if (!item.ok) return item
    // defineProperty, since an assignment to __proto__ would set the prototype and lose the member
    Object.defineProperty(copy, key, { value: item.value, enumerable: true, configurable: true, writable: true })
  }
  return { ok: true, value: copy }
}

/** What JSON.stringify uses in place of a value; undefined if it leaves the value out. */
function loosened(given: unknown, key: string): unknown {
  const { toJSON } = (given ?? {}) as { readonly toJSON?: unknown }
  const value: unknown = typeof toJSON === 'function' ? toJSON.call(given, key) : given
  if (typeof value === 'number' && !Number.isFinite(value)) return null
  return typeof value === 'function' || typeof value === 'symbol' ? undefined : value
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Whether JSON keeps the data of an object, as far as that shows from outside. */
function survivesJson(value: object, members: number): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  // plain objects, also those of another realm
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return true
  return members > 0 && !ArrayBuffer.isView(value) && !/Error|String/.test(Object.prototype.toString.call(value))
}

/** `inputs.topic`, and `inputs["two words"]` for a name that cannot follow a dot. */
export function memberPath(at: Path, key: string): Path {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `${at}.${key}` : `${at}[${JSON.stringify(key)}]`
}

/** RFC 8785: members sorted by UTF-16 code units, no white space. Equal values have equal JSON. */
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

/** Parses JSON from outside. Undefined for invalid JSON and for values that are nested too deeply. */
export function readJson(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json
    return mayNestDeeper(text, nestingLimit) && isNestedDeeper(value, nestingLimit) ? undefined : value
  } catch {
    return undefined
  }
}

/** Parses a JSON object. Undefined for any other text. */
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
