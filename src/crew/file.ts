// Files as inputs. A file is read, hashed and stored when a run is created: afterwards the original may change or
// disappear. Problems with a file are reported before anything is spent.
import { readFileSync, statSync } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf, RepriseError } from '../base/errors.ts'
import type { StoredFile } from '../journal/entries.ts'
import { hashBytes } from '../journal/hash.ts'
import type { Json } from '../journal/json.ts'
import { isTextType, mediaTypeOf } from '../base/media-types.ts'
import { optional, text, whole, wrong, checkKeys, describe } from '../base/options.ts'

export interface FileOptions {
  /** Media type. Default: from the extension of the name, else from the first bytes. */
  readonly mediaType?: string
  /** Name shown to the model. Default: the file name of the path. */
  readonly name?: string
  /** Size limit in bytes. Default: 20 MB (20 × 1024 × 1024). */
  readonly maxBytes?: number
}

/** A file for the inputs of a run, created by `file()`. */
export interface InputFile {
  readonly source: string | Uint8Array
  readonly name: string
  readonly mediaType: string | undefined
  readonly maxBytes: number
}

const brand = Symbol.for('reprise.file')
const defaultMaxBytes = 20 * 1024 * 1024
const keys = ['mediaType', 'name', 'maxBytes']

/**
 * Passes a file as an input, or anywhere inside one. A path is read when the run is created, relative to the working
 * folder at that time. Throws INPUT_INVALID, OPTION_INVALID or OPTION_UNKNOWN if the call is invalid. If the file
 * cannot be used, the kickoff rejects with INPUT_INVALID.
 */
export function file(source: string | URL, options?: FileOptions): InputFile
export function file(bytes: Uint8Array, options: FileOptions & { readonly name: string }): InputFile
export function file(source: unknown, options: FileOptions = {}): InputFile {
  checkKeys('file', options, keys)
  const { mediaType, maxBytes = defaultMaxBytes } = options
  whole(1).read('maxBytes of a file', maxBytes)
  optional('name of a file', options.name, text)
  if (mediaType !== undefined && !(typeof mediaType === 'string' && /^[\w.+-]+\/[\w.+-]+$/.test(mediaType))) {
    throw wrong('mediaType of a file', mediaType, 'a media type such as application/pdf')
  }
  const pathOrBytes = readSource(source)
  if (typeof pathOrBytes !== 'string' && options.name === undefined) {
    throw new RepriseError('INPUT_INVALID', `a file from bytes needs a name; give file(bytes, { name: 'claim.pdf' })`)
  }
  const name = options.name ?? basename(pathOrBytes as string)
  // the name is inserted into texts: it must not bring control characters into them
  const inputFile = {
    source: pathOrBytes,
    name: name.toWellFormed().replaceAll(/[\p{Cc}]/gu, '_'),
    mediaType,
    maxBytes,
  }
  return Object.freeze(Object.defineProperty(inputFile, brand, { value: true }))
}

/** Returns whether the value is a file, possibly from another copy of the package. */
export function isInputFile(value: object): value is InputFile {
  return brand in value
}

function readSource(source: unknown): string | Uint8Array {
  if (source instanceof Uint8Array) return source
  if (source instanceof URL && source.protocol === 'file:') return fileURLToPath(source)
  if (typeof source === 'string' && source !== '' && !/^https?:/i.test(source)) return source
  const shown = source instanceof URL ? source.href : describe(source)
  throw new RepriseError(
    'INPUT_INVALID',
    `file() was given ${shown}; give a path, a file: URL or bytes; fetch remote files first`,
  )
}

type FileRead =
  | { readonly reference: StoredFile; readonly bytes: Uint8Array }
  /** The path doesn't exist, which is fine if the run has already stored the file. */
  | { readonly gone: RepriseError }

/**
 * Reads a file. Rejects with INPUT_INVALID; the message names the position among the inputs, the path, the problem and
 * a fix.
 */
export async function readInputFile(given: InputFile, position: string): Promise<FileRead> {
  const { source, name, maxBytes } = given
  const what = `${position} is the file ${describe(typeof source === 'string' ? source : name)}, which`
  const invalid = (words: string, cause?: unknown): RepriseError =>
    new RepriseError('INPUT_INVALID', `${what} ${words}`, { cause })
  let bytes: Uint8Array
  try {
    // a copy: the caller may change its bytes later
    bytes = typeof source === 'string' ? await readAtMost(source, maxBytes, invalid) : Uint8Array.from(source)
  } catch (error) {
    if (RepriseError.isInstance(error)) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return {
        gone: invalid(`does not exist (${resolve(String(source))}); check the path and the working folder`, error),
      }
    throw invalid(`cannot be read: ${messageOf(error)}`, error)
  }
  if (bytes.length > maxBytes) throw invalid(tooLarge(bytes.length, maxBytes))
  if (bytes.length === 0) throw invalid('is empty; give a file with contents, or remove it')
  const mediaType = given.mediaType ?? mediaTypeOf(name, bytes)
  if (mediaType === undefined)
    throw invalid(`has an unknown media type; give it: file(…, { mediaType: 'application/pdf' })`)
  if (isTextType(mediaType) && !isUtf8(bytes))
    throw invalid(`has the text type ${mediaType}, but is not UTF-8; save it as UTF-8, or give another mediaType`)
  return { reference: { hash: hashBytes(bytes), name, mediaType, bytes: bytes.length }, bytes }
}

/**
 * Identifies a file in fingerprints. The hash of an unreadable file is null; the error is reported when the file is
 * read.
 */
export function fileIdentity({ source, name, mediaType }: InputFile): Json {
  return { name, mediaType: mediaType ?? null, hash: typeof source === 'string' ? hashAt(source) : hashBytes(source) }
}

function hashAt(path: string): string | null {
  try {
    return statSync(path).isFile() ? hashBytes(readFileSync(path)) : null
  } catch {
    return null
  }
}

async function readAtMost(
  path: string,
  maxBytes: number,
  invalid: (words: string) => RepriseError,
): Promise<Uint8Array> {
  // check before opening: opening a named pipe blocks until another process writes to it
  const stats = await stat(path)
  if (stats.isDirectory()) throw invalid('is a folder; give a file')
  if (!stats.isFile()) throw invalid('is not a regular file; give a regular file, or its bytes')
  if (stats.size > maxBytes) throw invalid(tooLarge(stats.size, maxBytes))
  const handle = await open(path, 'r')
  try {
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}

function tooLarge(bytes: number, maxBytes: number): string {
  return `has ${bytes.toLocaleString('en')} bytes, more than the limit of ${maxBytes.toLocaleString('en')}; give a smaller file, or raise maxBytes`
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}
