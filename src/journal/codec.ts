// Encodes entries as lines and decodes them. A line is one JSON object in UTF-8; its hash is the `prev` of the next
// line. A value whose JSON is longer than 64 KB, and the pinned request of an attempt, is stored once per run under its
// hash and referred to as {"$blob": hash}. A member of that name in user data gets one more `$`, so user data is never
// mistaken for a reference.
import { RepriseError } from '../base/errors.ts'
import { checkEntry } from './check/check-entry.ts'
import { journalVersion, type Blob, type Entry, type NewEntry } from './entries.ts'
import { hashBytes } from './hash.ts'
import { isNestedDeeper, mayNestDeeper, type Json } from './json.ts'
import {
  entryLevels,
  entryLimit,
  mapMembers,
  referenceIn,
  resolveReferences,
  type ReadBlob,
} from './check/stored-values.ts'

const blobLimit = 65_536
/** Longer lists and objects are stored in parts: some stores take no value of 16 MB. */
const partedLength = 1_048_576
/** Members that are longer than this become parts. */
const partLength = 1_024
const marker = /"\$+blob"/
/** Almost no text has it, and searching for a word is faster than matching a pattern. */
const hasMarker = (text: string): boolean => text.includes('$blob"') && marker.test(text)
const decoder = new TextDecoder('utf-8', { fatal: true })

export interface EncodedEntry {
  readonly entry: Entry
  readonly bytes: Uint8Array
  readonly hash: string
  readonly blobs: readonly Blob[]
}

export interface EntryStamp {
  readonly seq: number
  readonly at: string
  readonly token: number
  readonly prev: string
  readonly jump?: number
}

/** Adds the envelope, and encodes the entry. */
export function encodeEntry(fresh: NewEntry, stamp: EntryStamp): EncodedEntry {
  const { type, path } = fresh
  const { seq, at, jump } = stamp
  const head = { v: journalVersion, seq, at, ...(jump && { jump }), type, ...(path === undefined ? {} : { path }) }
  const tail = { token: stamp.token, prev: stamp.prev }
  // members keep the position in which they were first named, so the head stays first
  const entry = { ...head, ...fresh, ...tail } as Entry
  const blobs: Blob[] = []
  let text = JSON.stringify(entry)
  if (text.length > entryLimit) {
    const words = `${type} of ${path ?? 'the run'} has ${text.length} characters, and an entry takes ${entryLimit}; keep large values outside, and give their place`
    throw new RepriseError('STORE_FAILED', words)
  }
  if ((type === 'task.started' && fresh.request !== undefined) || text.length > blobLimit || hasMarker(text)) {
    const { type: _type, path: _path, ...body } = fresh
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
 * Decodes a line. JOURNAL_DAMAGED if it lacks a field of its type, or a stored value has changed. BLOB_MISSING if a
 * stored value is gone.
 */
export async function decodeEntry(bytes: Uint8Array, blob: ReadBlob, where: string): Promise<Entry> {
  const { value, length, refers } = parseLine(bytes, where)
  const entry = refers ? await resolveReferences(value as unknown as Json, length, blob, where) : value
  return checkEntry(entry as Entry, where)
}

/**
 * Decodes a line without references, as nearly all are, without a promise. Undefined for other lines. JOURNAL_DAMAGED.
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
 * Hashes of the stored values that a line or a stored value refers to. None for a text that isn't JSON, which is
 * reported when it is decoded.
 */
export function blobReferences(text: string): string[] {
  const hashes = new Set<string>()
  if (!hasMarker(text)) return []
  const waiting: unknown[] = [parseJson(text)]
  // grows during the loop: recursion would run out of stack for text from outside
  for (const value of waiting) {
    const hash = referenceIn(value as Json)
    if (hash !== undefined) hashes.add(hash)
    else if (typeof value === 'object' && value !== null)
      for (const member of Object.values(value)) waiting.push(member)
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
  return stored(text.length > partedLength ? JSON.stringify(parted(inner, blobs)) : text, blobs)
}

function parted(value: Json, blobs: Blob[]): Json {
  return mapMembers(
    value,
    (member) => {
      const text = JSON.stringify(member)
      return text.length > partLength ? stored(text, blobs) : member
    },
    (key) => key,
  )
}

function stored(text: string, blobs: Blob[]): Json {
  const bytes = Buffer.from(text)
  const hash = hashBytes(bytes)
  blobs.push({ hash, bytes })
  return { $blob: hash }
}
