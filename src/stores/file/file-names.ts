// From run ids to file names and back. An id may be any text (`..`, `a/b`, `Fälle`), a name may not: everything but
// plain letters, digits, `-` and `_` is percent-encoded; the dot too, since it parts the id from what kind of file it
// is.
import { createHash } from 'node:crypto'
import type { RunId } from '../store.ts'

const journalEnding = '.jsonl'
const inboxEnding = '.inbox.jsonl'
const temporaryEnding = '.tmp'
const noteEnding = '.end'

/** The lock and the leases; SQLite puts a journal beside it. */
export const leasesName = 'leases.db'

/** File systems take 255 bytes; endings and temporary names need some of them. */
const nameLimit = 150

/** A long name is cut and told apart by a hash after `~`; the id is then found in the file itself. */
export function encodeName(id: string): string {
  const encoded = Buffer.from(id)
    .toString('latin1')
    .replaceAll(/[^A-Za-z0-9_-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
  if (encoded.length <= nameLimit) return encoded
  return `${encoded.slice(0, 100)}~${createHash('sha256').update(id).digest('hex').slice(0, 32)}`
}

/** Undefined when the name does not say it: cut ones, and files that are not ours. */
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

/** While its first batch is written. */
export function newJournalName(run: RunId): string {
  return journalName(run) + temporaryEnding
}

export function inboxName(run: RunId): string {
  return encodeName(run) + inboxEnding
}

/** The note of the last line of a journal or an inbox, from the path of that. */
export function notePath(lines: string): string {
  return lines.slice(0, -journalEnding.length) + noteEnding
}

export function blobsName(run: RunId): string {
  return `${encodeName(run)}.blobs`
}

/** The part of a journal's file name that stands for the run; undefined for any other file. */
export function runPart(file: string): string | undefined {
  if (!file.endsWith(journalEnding)) return undefined
  const name = file.slice(0, -journalEnding.length)
  return name === '' || name.includes('.') ? undefined : name
}

/**
 * Whether a change of this file says nothing of any run: leases are renewed all the time, new files get their name at
 * the end, and a note follows the change of its journal.
 */
export function isSideFile(file: string): boolean {
  return file.startsWith(leasesName) || file.endsWith(temporaryEnding) || file.endsWith(noteEnding)
}

export function isInbox(file: string): boolean {
  return file.endsWith(inboxEnding)
}

/** The run that a changed file belongs to, where its name says it. */
export function decodeRunFile(file: string): RunId | undefined {
  const name = file.split('.')[0]
  return file.endsWith(journalEnding) && name !== undefined ? decodeName(name) : undefined
}
