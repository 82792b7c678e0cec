// What changed between two JSON values, place by place. Items of lists are first lined up, so that one that was put in
// front does not make all behind it look changed.
import { diffArrays } from './diff-arrays.ts'
import { canonicalJson, memberPath, type Json } from '../../journal/json.ts'

/**
 * One place that differs. `path` is where the value stands in b (`output.items[2].date`); of a removed one, where it
 * stood in a. Taking the removed ones out of a, last one first, putting the added ones in, in their order, and setting
 * the changed ones gives b.
 */
export type JsonChange =
  | { readonly path: string; readonly kind: 'added'; readonly b: Json }
  | { readonly path: string; readonly kind: 'removed'; readonly a: Json }
  | { readonly path: string; readonly kind: 'changed'; readonly a: Json; readonly b: Json }

/**
 * Lists with more items added and removed than this are compared position by position: lining up takes the square of
 * it.
 */
const itemLimit = 500
/** Levels that are walked: below, a value has changed as a whole. */
const depthLimit = 100

/**
 * None for values that are equal, in whatever order their members stand. What is nested too deeply to walk has changed
 * as a whole.
 */
export function jsonChanges(a: Json, b: Json, at: string): JsonChange[] {
  try {
    return compare(a, b, { a: at, b: at, depth: 0 })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return sameText(a, b) ? [] : [{ path: at, kind: 'changed', a, b }]
  }
}

function sameText(a: Json, b: Json): boolean {
  try {
    return JSON.stringify(a) === JSON.stringify(b)
  } catch {
    return a === b
  }
}

/** Where the walk is, in a and in b. */
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
 * How many items of a and of b stand against each other, stretch by stretch; equal ones stand against each other too.
 */
function alignLists(a: readonly Json[], b: readonly Json[]): (readonly [number, number])[] {
  const options = { maxEditLength: itemLimit }
  const parts = diffArrays(a.map(canonicalJson), b.map(canonicalJson), options)
  if (!parts) return [[a.length, b.length]]
  const found: [number, number][] = []
  let open: [number, number] | undefined
  for (const { added, removed, count } of parts) {
    if (!added && !removed) {
      open = undefined
      found.push([count, count])
      continue
    }
    if (!open) found.push((open = [0, 0]))
    open[added ? 1 : 0] += count
  }
  return found
}

type JsonObject = { readonly [key: string]: Json }

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
