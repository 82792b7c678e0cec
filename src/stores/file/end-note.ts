// Notes the number and hash of the last line of a journal or an inbox, in a separate file. Without the note, a file
// that lost its last lines looks complete, and a file whose last lines are unreadable looks like an unfinished write.
// The note is written after the lines are on disk, so a note ahead of the lines means that lines are lost. It isn't
// synced: after a crash it may be missing or old, and then a loss may go undetected, but no loss is reported wrongly. A
// note in leases.db instead would make each append take four times as long.
import { constants } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { hashBytes } from '../../journal/hash.ts'
import type { LastEntryNote } from '../store.ts'

/** All notes have the same length, so that a new one completely overwrites the old one. */
const digits = 16
const form = /^ *(\d+) (\S{43}) (\S{43})\n$/

/** Undefined if the note is missing or damaged. */
export async function readNote(path: string): Promise<Required<LastEntryNote> | undefined> {
  const text = await readFile(path, 'latin1').catch(() => '')
  const [, seq, hash, check] = form.exec(text) ?? []
  return seq === undefined || hash === undefined || check !== noteChecksum(seq, hash)
    ? undefined
    : { seq: Number(seq), hash }
}

/** Never rejects: if the note cannot be written, the lines are on disk all the same. */
export async function writeNote(path: string, { seq, hash }: Required<LastEntryNote>): Promise<void> {
  const handle = await open(path, constants.O_WRONLY | constants.O_CREAT, 0o600).catch(() => undefined)
  try {
    await handle?.write(`${String(seq).padStart(digits)} ${hash} ${noteChecksum(String(seq), hash)}\n`, 0)
  } catch {
    // the previous note stays, and is still true
  } finally {
    await handle?.close()
  }
}

/** Makes a damaged note detectable. */
function noteChecksum(seq: string, hash: string): string {
  return hashBytes(`${seq} ${hash}`)
}
