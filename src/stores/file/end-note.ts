// The number and the hash of the last line of a journal or an inbox, in a file beside it: a file whose last lines were
// lost looks whole by itself, and one whose last lines cannot be read looks like an unfinished write. The note is
// written when the lines are on disk, and is not synced: a note that a crash took away, or left older than the lines,
// only makes less be noticed. A note that is ahead of the lines means that lines are gone. In the table of leases each
// append would sync four times as often, and take four times as long.
import { constants } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { hashBytes } from '../../journal/hash.ts'
import type { LastEntryNote } from '../store.ts'

/** All notes have one length, so that a new one overwrites the old as a whole. */
const digits = 16
const form = /^ *(\d+) (\S{43}) (\S{43})\n$/

/** Undefined when there is none, or what is there is none. */
export async function readNote(path: string): Promise<Required<LastEntryNote> | undefined> {
  const text = await readFile(path, 'latin1').catch(() => '')
  const [, seq, hash, check] = form.exec(text) ?? []
  return seq === undefined || hash === undefined || check !== noteChecksum(seq, hash)
    ? undefined
    : { seq: Number(seq), hash }
}

/** A note that cannot be written isn't a failure: the lines are on disk. */
export async function writeNote(path: string, { seq, hash }: Required<LastEntryNote>): Promise<void> {
  const handle = await open(path, constants.O_WRONLY | constants.O_CREAT, 0o600).catch(() => undefined)
  try {
    await handle?.write(`${String(seq).padStart(digits)} ${hash} ${noteChecksum(String(seq), hash)}\n`, 0)
  } catch {
    // the note before it stays, which is true as well
  } finally {
    await handle?.close()
  }
}

/** A damaged note says nothing, rather than something wrong. */
function noteChecksum(seq: string, hash: string): string {
  return hashBytes(`${seq} ${hash}`)
}
