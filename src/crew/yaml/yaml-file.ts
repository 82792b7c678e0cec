// Locates and reads files.
import { readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf, RepriseError } from '../../base/errors.ts'

/** A path, relative to the working folder, or a URL: `new URL('config/agents.yaml', import.meta.url)`. */
export type FileReference = string | URL

export function invalid(message: string, cause?: unknown): RepriseError {
  return new RepriseError('CREW_INVALID', message, { cause })
}

/** The path to open, and its name in messages: a path as given, a URL relative to the working folder. */
export function locate(reference: unknown): { readonly path: string; readonly file: string; readonly isUrl: boolean } {
  const isUrl = reference instanceof URL || (typeof reference === 'string' && reference.startsWith('file:'))
  if (!isUrl && (typeof reference !== 'string' || reference === '')) {
    throw invalid(`a YAML file needs a path or a URL, such as 'config/agents.yaml'`)
  }
  if (!isUrl) return { path: reference, file: reference, isUrl }
  try {
    const path = fileURLToPath(reference)
    const near = relative(resolve(), path)
    return { path, file: near.startsWith('..') ? path : near, isUrl }
  } catch (error) {
    throw invalid(`${String(reference)} is not the URL of a file on this machine: ${messageOf(error)}`, error)
  }
}

/** CREW_INVALID if the file doesn't exist or isn't UTF-8. */
export function readText(path: string, file: string): string {
  let bytes: Uint8Array
  try {
    bytes = readFileSync(path)
  } catch (error) {
    const { code } = error as { readonly code?: string }
    const where = `the working folder is ${resolve()}; for a path relative to the module use new URL('…', import.meta.url)`
    if (code === 'ENOENT') throw invalid(`${file} does not exist; ${where}`, error)
    throw invalid(`${file} cannot be read: ${messageOf(error)}`, error)
  }
  try {
    // removes a byte order mark
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw invalid(`${file} is not UTF-8 text; save it as UTF-8`, error)
  }
}
