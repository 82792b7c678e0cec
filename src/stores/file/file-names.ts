// Maps run ids to file names and back. An id may be any string (`..`, `a/b`, `Fälle`), a file name may not: everything
// but ASCII letters, digits, `-` and `_` is percent-encoded. Dots are encoded because a dot ends the id in a file name.
import { createHash } from 'node:crypto'
import type { RunId } from '../store.ts'

const journalEnding = '.jsonl'
const inboxEnding = '.inbox.jsonl'
const temporaryEnding = '.tmp'
const noteEnding = '.end'

/** The database of the lock and the leases. SQLite puts its rollback journal next to it. */
export const leasesName = 'leases.db'

/** File systems allow 255 bytes, and endings and temporary names need some of them. */
const nameLimit = 150

/** Encodes an id. A long name is cut, and made unique by `~` and a hash; its id is in the content of the file. */
export function encodeName(id: string): string {
  const encoded = Buffer.from(id)
    .toString('latin1')
    .replaceAll(/[^A-Za-z0-9_-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
  if (encoded.length <= nameLimit) return encoded
  return `${encoded.slice(0, 100)}~${createHash('sha256').update(id).digest('hex').slice(0, 32)}`
}

/** Decodes an id. Undefined for a cut name, and for a file of another program. */
export function decodeName(name: string): string | undefined {
  try {
    const id = decodeURIComponent(name)
    return encodeName(id) === name ? id : undefined
  } catch {
    return undefined
  }
}

export function journalName(run: RunId): string {
  return encodeName(run) + journalEnding
}

/** The temporary name of a journal while its first batch is written. */
export function newJournalName(run: RunId): string {
  return journalName(run) + temporaryEnding
}

export function inboxName(run: RunId): string {
  return encodeName(run) + inboxEnding
}

/** The path of the note on the last line of a journal or an inbox. */
export function notePath(lines: string): string {
  return lines.slice(0, -journalEnding.length) + noteEnding
}

export function blobsName(run: RunId): string {
  return `${encodeName(run)}.blobs`
}

/** The encoded run id in a journal's file name; undefined for any other file. */
export function runPart(file: string): string | undefined {
  if (!file.endsWith(journalEnding)) return undefined
  const name = file.slice(0, -journalEnding.length)
  return name === '' || name.includes('.') ? undefined : name
}

/**
 * Whether watchers may ignore changes of this file: leases are renewed all the time, a new file is renamed when it is
 * complete, and a note is written after its journal.
 */
export function isSideFile(file: string): boolean {
  return file.startsWith(leasesName) || file.endsWith(temporaryEnding) || file.endsWith(noteEnding)
}

export function isInbox(file: string): boolean {
  return file.endsWith(inboxEnding)
}

/** The run of a changed file, if its name contains the whole id. */
export function decodeRunFile(file: string): RunId | undefined {
  const name = file.split('.')[0]
  return file.endsWith(journalEnding) && name !== undefined ? decodeName(name) : undefined
}
