// Values stored separately from the lines that refer to them: {"$blob": hash}. A stored value may refer to others,
// since the writer stores values from the inside out. Reading checks that the bytes have the hash, resolves each value
// once, however often it is referred to, and bounds the expanded size of a line, so that a few kilobytes of references
// can't become gigabytes.
import { RepriseError } from '../../base/errors.ts'
import { hashBytes } from '../hash.ts'
import { isNestedDeeper, type Json } from '../json.ts'

/** Levels of a whole entry: the deepest value allowed, plus what an entry puts around it. */
export const entryLevels = 300
/** Characters of an encoded entry. */
export const entryLimit = 268_435_456
/** Characters of an entry with its stored values: references and escaped names take some more. */
const expandedLimit = 2 * entryLimit

export type ReadBlob = (hash: string) => Promise<Uint8Array | undefined>

interface Resolved {
  readonly value: Json
  readonly length: number
  readonly levels: number
}

/**
 * Replaces every reference in a value of `length` characters. BLOB_MISSING; JOURNAL_DAMAGED if a stored value has
 * changed.
 */
export async function resolveReferences(value: Json, length: number, blob: ReadBlob, where: string): Promise<Json> {
  const found = new Map<string, Resolved>()
  const resolve = async (outer: Json, size: number, depth: number): Promise<Resolved> => {
    const references = referencesIn(outer)
    let levels = references.levels
    let whole = size
    for (const { hash, at } of references.list) {
      let inner = found.get(hash)
      if (!inner) {
        if (depth === entryLevels) throw damaged(where, hash, 'is at the end of too long a chain of references')
        const text = await storedText(blob, hash, where)
        inner = await resolve(parsed(text, hash, where), text.length, depth + 1)
        found.set(hash, inner)
      }
      whole += inner.length
      levels = Math.max(levels, at + inner.levels)
      if (whole > expandedLimit) throw damaged(where, hash, `makes it longer than ${expandedLimit} characters`)
      if (levels > entryLevels) throw damaged(where, hash, `makes it deeper than ${entryLevels} levels`)
    }
    return { value: replaced(outer, found), length: whole, levels }
  }
  return (await resolve(value, length, 0)).value
}

/** JOURNAL_DAMAGED unless the bytes have this hash. `what` names them in the message. */
export function checkStoredValue(bytes: Uint8Array, hash: string, what: string): void {
  if (hashBytes(bytes) === hash) return
  throw new RepriseError('JOURNAL_DAMAGED', `${what} is not as it was written; ${advice}`)
}

async function storedText(blob: ReadBlob, hash: string, where: string): Promise<string> {
  const bytes = await blob(hash)
  if (!bytes) {
    const words = `${where} refers to the stored value ${hash}, which is not in the store; ${advice}`
    throw new RepriseError('BLOB_MISSING', words)
  }
  checkStoredValue(bytes, hash, called(hash, where))
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
}

function parsed(text: string, hash: string, where: string): Json {
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch (cause) {
    throw damaged(where, hash, 'is not JSON', cause)
  }
  if (isNestedDeeper(value, entryLevels)) throw damaged(where, hash, `is nested more than ${entryLevels} levels deep`)
  return value
}

const advice = 'restore the store from a copy, or delete the run'

function damaged(where: string, hash: string, what: string, cause?: unknown): RepriseError {
  return new RepriseError('JOURNAL_DAMAGED', `${called(hash, where)} ${what}; ${advice}`, { cause })
}

function called(hash: string, where: string): string {
  return `the stored value ${hash}, which ${where} refers to,`
}

/** The depth of a value of at most `entryLevels`, and its references with the levels above them. */
function referencesIn(value: Json): {
  readonly levels: number
  readonly list: readonly { hash: string; at: number }[]
} {
  const list: { hash: string; at: number }[] = []
  const walk = (inner: Json, at: number): number => {
    if (typeof inner !== 'object' || inner === null) return at
    const hash = referenceIn(inner)
    if (hash !== undefined) {
      list.push({ hash, at })
      return at
    }
    let deepest = at + 1
    for (const member of Object.values(inner)) deepest = Math.max(deepest, walk(member, at + 1))
    return deepest
  }
  return { levels: walk(value, 0), list }
}

function replaced(value: Json, found: ReadonlyMap<string, Resolved>): Json {
  const hash = referenceIn(value)
  if (hash !== undefined) return found.get(hash)?.value as Json
  return mapMembers(
    value,
    (member) => replaced(member, found),
    (key) => key.replace(/^\$(\$+blob)$/, '$1'),
  )
}

/** The hash in a reference; undefined for any other value. */
export function referenceIn(value: Json): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const hash = (value as { $blob?: Json }).$blob
  return typeof hash === 'string' ? hash : undefined
}

export function mapMembers(value: Json, member: (value: Json) => Json, key: (key: string) => string): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return (value as readonly Json[]).map(member)
  // fromEntries defines members, so a member named __proto__ stays one
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => (item === undefined ? [] : [[key(name), member(item)]])),
  )
}
