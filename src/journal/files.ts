// Files in the inputs of a run. The inputs contain a reference, {"$file": {hash, name, mediaType, bytes}}; the bytes
// are stored once per run under their hash. A member of that name in user data gets one more `$` while it is stored, so
// user data is never mistaken for a reference. Free of Node, for the page.
import type { StoredFile } from './entries.ts'
import type { Json } from './json.ts'
import { amount } from '../text/words.ts'

/** Bytes by hash. */
export type Files = ReadonlyMap<string, Uint8Array>
export const noFiles: Files = new Map()

/** The file that an input refers to, if it is a reference. */
export function asFileReference(value: Json | undefined): StoredFile | undefined {
  return referenceIn(value, '$file')
}

/**
 * The file that an escaped reference names. A user who copies the inputs of a shown run passes a reference, which is
 * escaped like any user data.
 */
export function asEscapedFileReference(value: Json | undefined): StoredFile | undefined {
  return referenceIn(value, '$$file')
}

/** The files that a value refers to, without repetitions, in order of occurrence. */
export function filesIn(value: Json | undefined): StoredFile[] {
  const found = new Map<string, StoredFile>()
  collect(value, found)
  return [...found.values()]
}

/** Returns a copy of the inputs as the user passed them. Files stay references. */
export function plainInputs<T extends Json>(value: T): T {
  return mapJson(value, (reference) => ({ $file: { ...reference } }), unescaped) as T
}

/** An input as text, with `[file …]` for files. */
export function inputAsText(value: Json): string {
  const plain = mapJson(value, fileMark, unescaped)
  return typeof plain === 'string' ? plain : JSON.stringify(plain)
}

/** The inputs for display, with name, size, media type and hash of each file. */
export function describeFiles(value: Json): Json {
  return mapJson(value, fileWords, unescaped)
}

/** How a prompt names a file that is sent with it. */
export function fileMark({ name }: Pick<StoredFile, 'name'>): string {
  return `[file ${name}]`
}

/** `claim.pdf (12.3k bytes, application/pdf, 9fK2mQ0x)` */
function fileWords({ name, bytes, mediaType, hash }: StoredFile): string {
  return `${name} (${amount(bytes)} bytes, ${mediaType}, ${hash.slice(0, 12)})`
}

export function escapeFileKey(key: string): string {
  return /^\$+file$/.test(key) ? `$${key}` : key
}

function unescaped(key: string): string {
  return /^\$\$+file$/.test(key) ? key.slice(1) : key
}

/** Copies a value; `file` replaces each reference, and `key` renames each member. */
function mapJson(value: Json, file: (reference: StoredFile) => Json, key: (key: string) => string): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => mapJson(item, file, key))
  const reference = asFileReference(value)
  if (reference) return file(reference)
  // fromEntries also keeps a member named __proto__
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [key(name), mapJson(item, file, key)]))
}

function collect(value: Json | undefined, found: Map<string, StoredFile>): void {
  if (typeof value !== 'object' || value === null) return
  const file = asFileReference(value)
  if (file) found.set(`${file.hash} ${file.name}`, file)
  else for (const member of Object.values(value)) collect(member, found)
}

function referenceIn(value: Json | undefined, member: '$file' | '$$file'): StoredFile | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const inner = (value as { readonly [key: string]: Json })[member]
  if (typeof inner !== 'object' || inner === null || Object.keys(value).length !== 1) return undefined
  const { hash, name, mediaType, bytes } = inner as { readonly [key: string]: Json }
  const isComplete = [hash, name, mediaType].every((text) => typeof text === 'string') && typeof bytes === 'number'
  return isComplete && Object.keys(inner).length === 4 ? (inner as unknown as StoredFile) : undefined
}
