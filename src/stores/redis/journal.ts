// Reads a run: its lines, its blobs, and the note on its last entry.
import type { Line, LastEntryNote, RunId } from '../store.ts'
import type { Database } from './database.ts'

/** Lines per command. A line rarely exceeds 64 KB, since larger values are blobs. */
const pageLines = 256

/** Stands in for a line that was removed by hand (scripts/append.lua). */
const lostLine = Buffer.from('\0lost')

export async function* readLines({ readBytes, key }: Database, run: RunId, after: number): AsyncIterable<Line> {
  // the end is fixed when the read begins; lines before it never change
  let end: number | undefined
  let born: string | undefined
  for (let from = Math.max(after, 0); end === undefined || from < end; from += pageLines) {
    const birth = ['HGET', key('run', run), 'born']
    const [bornBefore, length, lines, bornAfter] = await readBytes<[Buffer | null, number, Buffer[], Buffer | null]>([
      birth,
      ['LLEN', key('lines', run)],
      ['LRANGE', key('lines', run), String(from), String(from + pageLines - 1)],
      birth,
    ])
    born ??= String(bornBefore)
    end ??= length
    // the run was deleted, and perhaps created again
    if (born !== String(bornAfter)) return
    for (const [index, bytes] of lines.entries()) {
      const seq = from + index + 1
      if (seq <= end && !bytes.equals(lostLine)) yield { seq, bytes }
    }
  }
}

export async function findLastNoted({ read, key }: Database, run: RunId): Promise<LastEntryNote | undefined> {
  const [seq, hash] = await read<(string | null)[]>(['HMGET', key('run', run), 'seq', 'hash'])
  return seq == null ? undefined : { seq: Number(seq), ...(hash != null && { hash }) }
}

export async function readBlob(
  { readBytes, key }: Database,
  run: RunId,
  hash: string,
): Promise<Uint8Array | undefined> {
  const [bytes] = await readBytes<[Buffer | null]>([['HGET', key('blobs', run), hash]])
  return bytes ?? undefined
}
