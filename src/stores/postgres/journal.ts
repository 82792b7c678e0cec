// Reads a run: its lines, its blobs, and the note on its last entry, which is in its row of `heads`.
import type { Line, LastEntryNote, RunId } from '../store.ts'
import type { Database } from './database.ts'

/** Lines per query. A line rarely exceeds 64 KB, since larger values are blobs. */
const pageLines = 256

interface LineRecord {
  readonly id: number
  readonly last: number
  readonly seq: number
  readonly line: Buffer
  readonly [column: string]: unknown
}

export async function* readLines({ read, schema }: Database, run: RunId, after: number): AsyncIterable<Line> {
  // the end is fixed when the read begins; lines before it never change
  let lines = await read<LineRecord>(
    `select e.run_id as id, e.seq, e.line, (select max(seq) from ${schema}.entries x where x.run_id = e.run_id) as last
     from ${schema}.entries e where e.run_id = (select id from ${schema}.heads where run = $1) and e.seq > $2
     order by e.seq limit ${pageLines}`,
    [run, after],
  )
  while (lines.length > 0) {
    for (const { seq, line } of lines) yield { seq, bytes: line }
    const end = lines.at(-1) as LineRecord
    if (end.seq >= end.last) return
    // empty if the run was deleted in the meantime
    lines = await read<LineRecord>(
      `select run_id as id, seq, line, $3::int8 as last from ${schema}.entries
       where run_id = $1 and seq > $2 and seq <= $3 order by seq limit ${pageLines}`,
      [end.id, end.seq, end.last],
    )
  }
}

export async function findLastNoted({ read, schema }: Database, run: RunId): Promise<LastEntryNote | undefined> {
  const [head] = await read<{ seq: number; hash: string | null; last: number | null }>(
    `select seq, hash, (select max(e.seq) from ${schema}.entries e where e.run_id = h.id) as last
     from ${schema}.heads h where run = $1`,
    [run],
  )
  if (head === undefined) return undefined
  // lines were inserted by hand
  if ((head.last ?? 0) > head.seq) return { seq: head.last as number }
  return { seq: head.seq, ...(head.hash === null ? {} : { hash: head.hash }) }
}

export async function readBlob({ read, schema }: Database, run: RunId, hash: string): Promise<Uint8Array | undefined> {
  const [blob] = await read<{ bytes: Buffer }>(
    `select b.bytes from ${schema}.blobs b join ${schema}.heads h on h.id = b.run_id where h.run = $1 and b.hash = $2`,
    [run, hash],
  )
  return blob?.bytes
}
