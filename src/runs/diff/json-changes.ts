// The changes between two JSON values, by path. List items are aligned first, so that an item inserted at the front
// doesn't make all later items look changed.
import { diffArrays } from './diff-arrays.ts'
import { canonicalJson, memberPath, type Json } from '../../journal/json.ts'

/**
 * A change at one path. `path` is the place of the value in b (`output.items[2].date`), or, for a removed value, its
 * place in a. To turn a into b, take the removed values out, last to first, then insert the added values in order, and
 * replace the changed values.
 */
export type JsonChange =
  | { readonly path: string; readonly kind: 'added'; readonly b: Json }
  | { readonly path: string; readonly kind: 'removed'; readonly a: Json }
  | { readonly path: string; readonly kind: 'changed'; readonly a: Json; readonly b: Json }

/** Lists with more added and removed items than this are compared by position: aligning takes quadratic time. */
const itemLimit = 500
/** Values nested deeper than this are compared as a whole. */
const depthLimit = 100

/** Compares two values. Empty if they are equal; the order of members doesn't matter. `at` is the path of both. */
export function jsonChanges(a: Json, b: Json, at: string): JsonChange[] {
  try {
    return compare(a, b, { a: at, b: at, depth: 0 })
  } catch (error) {
    // too deep for the call stack: `canonicalJson` is recursive
    if (!(error instanceof RangeError)) throw error
    return hasEqualJson(a, b) ? [] : [{ path: at, kind: 'changed', a, b }]
  }
}

function hasEqualJson(a: Json, b: Json): boolean {
  try {
    return JSON.stringify(a) === JSON.stringify(b)
  } catch {
    return a === b
  }
}

interface JsonPosition {
  readonly a: string
  readonly b: string
  readonly depth: number
}

function compare(a: Json, b: Json, at: JsonPosition): JsonChange[] {
  if (at.depth < depthLimit) {
    if (isList(a) && isList(b)) return compareLists(a, b, at)
    if (isObject(a) && isObject(b)) return compareObjects(a, b, at)
  }
  return canonicalJson(a) === canonicalJson(b) ? [] : [{ path: at.b, kind: 'changed', a, b }]
}

function compareObjects(a: JsonObject, b: JsonObject, at: JsonPosition): JsonChange[] {
  const removed = Object.keys(a).filter((key) => !Object.hasOwn(b, key))
  return [
    ...removed.map((key) => ({ path: memberPath(at.a, key), kind: 'removed', a: a[key] as Json }) as const),
    ...Object.entries(b).flatMap(([key, value]): JsonChange[] => {
      const path = memberPath(at.b, key)
      if (!Object.hasOwn(a, key)) return [{ path, kind: 'added', b: value }]
      return compare(a[key] as Json, value, { a: memberPath(at.a, key), b: path, depth: at.depth + 1 })
    }),
  ]
}

function compareLists(a: readonly Json[], b: readonly Json[], at: JsonPosition): JsonChange[] {
  const changes: JsonChange[] = []
  let [nextA, nextB] = [0, 0]
  for (const [removed, added] of alignLists(a, b)) {
    for (let item = 0; item < Math.max(removed, added); item++) {
      const place = { a: `${at.a}[${nextA + item}]`, b: `${at.b}[${nextB + item}]`, depth: at.depth + 1 }
      const [itemA, itemB] = [a[nextA + item] as Json, b[nextB + item] as Json]
      if (item < removed && item < added) changes.push(...compare(itemA, itemB, place))
      else if (item < removed) changes.push({ path: place.a, kind: 'removed', a: itemA })
      else changes.push({ path: place.b, kind: 'added', b: itemB })
    }
    nextA += removed
    nextB += added
  }
  return changes
}

/**
 * Splits two lists into stretches, alternately equal and different: how many items of a correspond to how many of b.
 */
function alignLists(a: readonly Json[], b: readonly Json[]): (readonly [number, number])[] {
  const options = { maxEditLength: itemLimit }
  const parts = diffArrays(a.map(canonicalJson), b.map(canonicalJson), options)
  if (!parts) return [[a.length, b.length]]
  const stretches: [number, number][] = []
  let open: [number, number] | undefined
  for (const { added, removed, count } of parts) {
    if (!added && !removed) {
      open = undefined
      stretches.push([count, count])
      continue
    }
    if (!open) stretches.push((open = [0, 0]))
    open[added ? 1 : 0] += count
  }
  return stretches
}

type JsonObject = { readonly [key: string]: Json }

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
