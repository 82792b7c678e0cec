// Encodes entries as lines and decodes them. A line is one JSON object in UTF-8; its hash is the `prev` of the next
// line. Two kinds of values are stored once per run under their hash, and referred to as {"$blob": hash}: those whose
// JSON is longer than 64 KB, and the pinned requests of attempts. A member named `$blob` in user data gets one more
// `$`, so user data is never mistaken for a reference.
import { RepriseError } from '../base/errors.ts'
import { checkEntry } from './check/check-entry.ts'
import { journalVersion, type Blob, type Entry, type NewEntry } from './entries.ts'
import { hashBytes } from './hash.ts'
import { isNestedDeeper, mayNestDeeper, type Json } from './json.ts'

const blobLimit = 65_536
/** Lists and objects with longer JSON are stored in parts, because some stores refuse values of 16 MB. */
const partedLength = 1_048_576
/** Members longer than this become parts. */
const partLength = 1_024
const marker = /"\$+blob"/
/** Almost no line has a marker, and searching for a substring is faster than matching the pattern. */
const hasMarker = (text: string): boolean => text.includes('$blob"') && marker.test(text)
const decoder = new TextDecoder('utf-8', { fatal: true })

export interface EncodedEntry {
  readonly entry: Entry
  readonly bytes: Uint8Array
  readonly hash: string
  readonly blobs: readonly Blob[]
}

interface EntryStamp {
  readonly seq: number
  readonly at: string
  readonly token: number
  readonly prev: string
  readonly jump?: number
}

/** Adds the envelope and encodes the entry. */
export function encodeEntry(newEntry: NewEntry, stamp: EntryStamp): EncodedEntry {
  const { type, path } = newEntry
  const { seq, at, jump } = stamp
  const head = { v: journalVersion, seq, at, ...(jump && { jump }), type, ...(path === undefined ? {} : { path }) }
  const tail = { token: stamp.token, prev: stamp.prev }
  // spreading doesn't move members that are already there, so the head stays first
  const entry = { ...head, ...newEntry, ...tail } as Entry
  const blobs: Blob[] = []
  let text = JSON.stringify(entry)
  if (text.length > entryLimit) {
    const words = `${type} of ${path ?? 'the run'} has ${text.length} characters, more than the limit of ${entryLimit} for an entry; store large values elsewhere, and pass a reference`
    throw new RepriseError('STORE_FAILED', words)
  }
  if ((type === 'task.started' && newEntry.request !== undefined) || text.length > blobLimit || hasMarker(text)) {
    const { type: _type, path: _path, ...body } = newEntry
    const members = Object.entries(body).map(([key, value]) => [
      key,
      externalise(value as Json, blobs, key === 'request'),
    ])
    text = JSON.stringify({ ...head, ...Object.fromEntries(members), ...tail })
  }
  const bytes = Buffer.from(text)
  return { entry, bytes, hash: hashBytes(bytes), blobs }
}

/**
 * Decodes a line. Rejects with JOURNAL_DAMAGED if it isn't a valid entry of this format or a stored value has changed;
 * with BLOB_MISSING if a stored value is gone.
 */
export async function decodeEntry(bytes: Uint8Array, blob: ReadBlob, where: string): Promise<Entry> {
  const { value, length, refers } = parseLine(bytes, where)
  const entry = refers ? await resolveReferences(value as unknown as Json, length, blob, where) : value
  return checkEntry(entry as Entry, where)
}

/**
 * Decodes a line synchronously. Returns undefined for the few lines with references, which need `decodeEntry`. Throws
 * JOURNAL_DAMAGED as `decodeEntry` does.
 */
export function decodePlain(bytes: Uint8Array, where: string): Entry | undefined {
  const { value, refers } = parseLine(bytes, where)
  return refers ? undefined : checkEntry(value, where)
}

function parseLine(bytes: Uint8Array, where: string): { value: Entry; length: number; refers: boolean } {
  let text: string
  let value: unknown
  try {
    text = decoder.decode(bytes)
    value = JSON.parse(text)
  } catch (cause) {
    throw new RepriseError('JOURNAL_DAMAGED', `${where} is not a line of JSON; restore the journal from a copy`, {
      cause,
    })
  }
  const entry = value as Partial<Entry> | null
  if (typeof entry !== 'object' || entry === null || typeof entry.seq !== 'number' || typeof entry.type !== 'string') {
    throw new RepriseError(
      'JOURNAL_DAMAGED',
      `${where} has no seq and type, so it isn't a journal entry; restore the journal from a copy`,
    )
  }
  if (mayNestDeeper(text, entryLevels) && isNestedDeeper(value, entryLevels)) {
    const words = `${where} is nested more than ${entryLevels} levels deep; restore the journal from a copy`
    throw new RepriseError('JOURNAL_DAMAGED', words)
  }
  return { value: entry as Entry, length: text.length, refers: hasMarker(text) }
}

/**
 * The hashes of the stored values that a line or a stored value refers to. Empty for invalid JSON, which is reported
 * when it is decoded.
 */
export function blobReferences(text: string): string[] {
  const hashes = new Set<string>()
  if (!hasMarker(text)) return []
  const pending: unknown[] = [parseJson(text)]
  // grows during the loop, since recursion could overflow the stack on foreign input
  for (const value of pending) {
    const hash = referenceIn(value as Json)
    if (hash !== undefined) hashes.add(hash)
    else if (typeof value === 'object' && value !== null)
      for (const member of Object.values(value)) pending.push(member)
  }
  return [...hashes]
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function externalise(value: Json, blobs: Blob[], always = false): Json {
  const inner = mapMembers(
    value,
    (member) => externalise(member, blobs),
    (key) => key.replace(/^\$+blob$/, '$$$&'),
  )
  const text = JSON.stringify(inner)
  if (text === undefined || (!always && text.length <= blobLimit)) return inner
  return storeValue(text.length > partedLength ? JSON.stringify(splitIntoParts(inner, blobs)) : text, blobs)
}

function splitIntoParts(value: Json, blobs: Blob[]): Json {
  return mapMembers(
    value,
    (member) => {
      const text = JSON.stringify(member)
      return text.length > partLength ? storeValue(text, blobs) : member
    },
    (key) => key,
  )
}

function storeValue(text: string, blobs: Blob[]): Json {
  const bytes = Buffer.from(text)
  const hash = hashBytes(bytes)
  blobs.push({ hash, bytes })
  return { $blob: hash }
}

// Reading stored values. A stored value may refer to others, since the writer stores values from the inside out.
// Reading checks that the bytes have the hash, resolves each value once, however often it is referred to, and limits
// the expanded size of a line, so that a few kilobytes of references can't become gigabytes.

/** Levels of a whole entry: the deepest value allowed, plus the levels that the entry adds around it. */
const entryLevels = 300
/** The most characters that the JSON of an entry may have, before values are replaced by references. */
export const entryLimit = 268_435_456
/** The most characters of a line and its stored values together: references and escaped names need some more. */
const expandedLimit = 2 * entryLimit

type ReadBlob = (hash: string) => Promise<Uint8Array | undefined>

interface Resolved {
  readonly value: Json
  readonly length: number
  readonly levels: number
}

/**
 * Replaces every reference in a value of `length` characters. Rejects with BLOB_MISSING if a stored value is gone; with
 * JOURNAL_DAMAGED if one has changed, or the whole gets too large.
 */
async function resolveReferences(value: Json, length: number, blob: ReadBlob, where: string): Promise<Json> {
  const found = new Map<string, Resolved>()
  const resolve = async (outer: Json, size: number, depth: number): Promise<Resolved> => {
    const references = referencesIn(outer)
    let levels = references.levels
    let whole = size
    for (const { hash, at } of references.list) {
      let inner = found.get(hash)
      if (!inner) {
        if (depth === entryLevels) throw damaged(where, hash, 'ends a chain of too many references')
        const text = await readStoredText(blob, hash, where)
        inner = await resolve(parseStored(text, hash, where), text.length, depth + 1)
        found.set(hash, inner)
      }
      whole += inner.length
      levels = Math.max(levels, at + inner.levels)
      if (whole > expandedLimit) throw damaged(where, hash, `makes the entry longer than ${expandedLimit} characters`)
      if (levels > entryLevels) throw damaged(where, hash, `makes the entry deeper than ${entryLevels} levels`)
    }
    return { value: replaceReferences(outer, found), length: whole, levels }
  }
  return (await resolve(value, length, 0)).value
}

/** Throws JOURNAL_DAMAGED unless the bytes have this hash. `what` names them in the message. */
export function checkStoredValue(bytes: Uint8Array, hash: string, what: string): void {
  if (hashBytes(bytes) === hash) return
  throw new RepriseError('JOURNAL_DAMAGED', `${what} is not as it was written; ${advice}`)
}

async function readStoredText(blob: ReadBlob, hash: string, where: string): Promise<string> {
  const bytes = await blob(hash)
  if (!bytes) {
    const words = `${where} refers to the stored value ${hash}, which is not in the store; ${advice}`
    throw new RepriseError('BLOB_MISSING', words)
  }
  checkStoredValue(bytes, hash, describeStored(hash, where))
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
}

function parseStored(text: string, hash: string, where: string): Json {
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
  return new RepriseError('JOURNAL_DAMAGED', `${describeStored(hash, where)} ${what}; ${advice}`, { cause })
}

function describeStored(hash: string, where: string): string {
  return `the stored value ${hash}, which ${where} refers to,`
}

/** The depth of a value, which is at most `entryLevels`, and its references with their depths. */
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

function replaceReferences(value: Json, found: ReadonlyMap<string, Resolved>): Json {
  const hash = referenceIn(value)
  if (hash !== undefined) return found.get(hash)?.value as Json
  return mapMembers(
    value,
    (member) => replaceReferences(member, found),
    (key) => key.replace(/^\$(\$+blob)$/, '$1'),
  )
}

/** The hash in a reference; undefined for any other value. */
export function referenceIn(value: Json): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const hash = (value as { $blob?: Json }).$blob
  return typeof hash === 'string' ? hash : undefined
}

function mapMembers(value: Json, member: (value: Json) => Json, key: (key: string) => string): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return (value as readonly Json[]).map(member)
  // fromEntries also keeps a member named __proto__
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => (item === undefined ? [] : [[key(name), member(item)]])),
  )
}
