// Reads a run: its lines, its blobs, and the note on its last entry, which is in its row.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Line, LastEntryNote, RunId } from '../store.ts'
import type { Connection } from './connection.ts'
import { damagedRowError } from './roots.ts'

/** Lines read per turn of the event loop. A line rarely exceeds 64 KB, since larger values are blobs. */
const chunkLines = 64

// If the last lines are lost, the last number issued is higher than that of the last line.
const lastLine = '(select coalesce(max(seq), 0) from entries where run_id = runs.id)'
export const lastIssued: string = `max(runs.last_seq, ${lastLine})`
const selectEnd = `select id, ${lastLine} as line, ${lastIssued} as issued, last_seq, last_hash from runs where run = ?`
const selectLines = `select seq, line from entries where run_id = ? and seq > ? and seq <= ? order by seq limit ${chunkLines}`

interface JournalEnd {
  readonly id: number
  readonly line: number
  readonly issued: number
  readonly last_seq: number
  readonly last_hash: string | null
}

export function findEnd({ sql }: Connection, run: RunId): JournalEnd | undefined {
  return sql(selectEnd).get(run) as JournalEnd | undefined
}

export function findLastNoted(connection: Connection, run: RunId): Promise<LastEntryNote | undefined> {
  return connection.read(() => {
    const end = findEnd(connection, run)
    if (end === undefined) return undefined
    const hash = end.issued === end.last_seq ? end.last_hash : null
    return { seq: end.issued, ...(hash === null ? {} : { hash }) }
  })
}

export async function* readLines(connection: Connection, run: RunId, after: number): AsyncIterable<Line> {
  // the end is fixed when the read begins; a journal only grows, so earlier lines don't change
  const end = await connection.read(() => findEnd(connection, run))
  if (end === undefined) return
  let read = after
  while (read < end.line) {
    const lines = await connection.read(() => linesBetween(connection, run, end, read))
    yield* lines
    // no lines: the run was deleted in the meantime
    read = lines.at(-1)?.seq ?? end.line
    if (read < end.line) await nextTurn()
  }
}

function linesBetween({ sql }: Connection, run: RunId, end: JournalEnd, after: number): Line[] {
  const select = sql(selectLines)
  select.setReturnArrays(true)
  const rows = select.all(end.id, after, end.line) as unknown as [number, unknown][]
  return rows.map(([seq, bytes]) => ({ seq, bytes: requireBytes(bytes, `entry ${seq} of run ${run}`) }))
}

/** SQLite stores values of any type in any column. */
function requireBytes(value: unknown, what: string): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw damagedRowError(what)
}

export async function readBlob(connection: Connection, run: RunId, hash: string): Promise<Uint8Array | undefined> {
  const row = await connection.read(() =>
    connection
      .sql('select b.bytes from blobs b join runs r on r.id = b.run_id where r.run = ? and b.hash = ?')
      .get(run, hash),
  )
  return row && requireBytes(row['bytes'], `the stored value ${hash} of run ${run}`)
}
