// Creating runs, appending to them and reading them back.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { checkNumbers, checkOpen, checkSeq, checkToken, isEnded, runNotFound } from '../refusals.ts'
import type { Batch, Lease, Line, Owner, RunId, RunRow } from '../store.ts'
import type { Connection } from './connection.ts'
import { findLease, holdingOf, replaceRow, rowColumns, rowValues } from './records.ts'

const inserted = ['run', ...rowColumns, 'token', 'owner', 'expires_at']
const insertRun = `insert into runs (${inserted.join()}) values (${inserted.map(() => '?').join()})`

/** Everything that an append must find, in one question: the answer is a row when all is well. */
const selectWritable = `select id, crew from runs
  where run = ? and token = ? and owner is not null and status not in ('completed', 'cancelled')
    and coalesce((select seq from all_places where run_id = runs.id order by seq desc limit 1), 0) = ?`

/** How much of a journal is read in one turn of the event loop. A line seldom has more than 64 KB, since larger values are blobs. */
const chunkLines = 64
const selectLines = `select place.seq, line from all_places as place join entries on id = entry_id
  where place.run_id = ? and place.seq > ? and place.seq <= ? order by place.seq limit ${chunkLines}`

/**
 * Every so many entries, the recent places move to the others. More at a time make the pages of a run's places be written less
 * often, and the recent ones fill more pages; around this number neither matters. It takes some 3 ms.
 */
const recentPlaces = 4_096

export function createRun(
  connection: Connection,
  first: RunRow,
  batch: Batch,
  lease?: { owner: Owner; ttlMs: number },
): Promise<{ created: boolean; lease?: Lease }> {
  const { sql, now } = connection
  return connection.write(() => {
    if (findLease(connection, first.run) !== undefined) return { created: false }
    checkNumbers(first.run, 0, batch)
    const row = batch.row ?? first
    const floor = sql('select floor from tokens').get() as unknown as { floor: number }
    const token = floor.floor + (lease === undefined ? 0 : 1)
    const { lastInsertRowid } = sql(insertRun).run(
      first.run,
      ...rowValues(row),
      token,
      lease === undefined ? null : JSON.stringify(lease.owner),
      lease === undefined ? null : now() + lease.ttlMs,
    )
    insertBatch(connection, Number(lastInsertRowid), row.crew, batch)
    if (lease === undefined) return { created: true }
    return { created: true, lease: { run: first.run, token, owner: lease.owner } }
  })
}

export function appendBatch(connection: Connection, lease: Lease, after: number, batch: Batch): Promise<void> {
  const { writable } = connection
  return connection.write(() => {
    const known = writable.get(lease.run)
    const { id, crew } =
      known?.token === lease.token && known.last === after ? known : findWritable(connection, lease, after, batch)
    checkNumbers(lease.run, after, batch)
    const { row, lines } = batch
    if (row !== undefined) replaceRow(connection, id, row)
    insertBatch(connection, id, row?.crew ?? crew, batch)
    if (isEnded(row?.status)) writable.forget(lease.run)
    else writable.set(lease.run, { id, crew: row?.crew ?? crew, token: lease.token, last: after + lines.length })
  })
}

type Found = { readonly id: number; readonly crew: string }

function findWritable(connection: Connection, lease: Lease, after: number, batch: Batch): Found {
  const found = connection.sql(selectWritable).get(lease.run, lease.token, after) as Found | undefined
  return found ?? lookCloser(connection, lease, after, batch)
}

/** Says why a run may not be appended to, or that it may all the same: a completed run that the batch opens again. */
function lookCloser(connection: Connection, lease: Lease, after: number, batch: Batch): Found {
  const record = findLease(connection, lease.run)
  checkToken(lease, record?.token, record && holdingOf(record))
  if (record === undefined) throw runNotFound(lease.run, connection.url)
  checkSeq(lease.run, lastSeq(connection, record.id), after, batch)
  checkOpen(lease.run, record.status, batch)
  return record
}

export async function* readLines(connection: Connection, run: RunId, after: number): AsyncIterable<Line> {
  const { sql } = connection
  // The end is fixed when the read begins; a journal only grows, so what lies before it cannot change under way.
  const found = await connection.read(() => {
    const record = findLease(connection, run)
    return record === undefined ? undefined : { id: record.id, last: lastSeq(connection, record.id) }
  })
  if (found === undefined) return
  let position = after
  while (position < found.last) {
    const from = position
    const rows = await connection.read(() => {
      const statement = sql(selectLines)
      statement.setReturnArrays(true)
      return statement.all(found.id, from, found.last) as unknown as [number, Uint8Array][]
    })
    if (rows.length === 0) return
    for (const [seq, bytes] of rows) {
      yield { seq, bytes }
      position = seq
    }
    if (position < found.last) await nextTurn()
  }
}

export async function readBlob(connection: Connection, run: RunId, hash: string): Promise<Uint8Array | undefined> {
  const row = await connection.read(() =>
    connection
      .sql('select b.bytes from blobs b join runs r on r.id = b.run_id where r.run = ? and b.hash = ?')
      .get(run, hash),
  )
  return row?.['bytes'] as Uint8Array | undefined
}

function insertBatch(connection: Connection, id: number, crew: string, batch: Batch): void {
  const { sql, now } = connection
  // coalesce: node:sqlite binds an empty array as null.
  const entry = sql("insert into entries (run_id, seq, line) values (?, ?, coalesce(?, x''))")
  const place = sql('insert into recent_places (run_id, seq, entry_id) values (?, ?, ?)')
  for (const line of batch.lines) {
    const { lastInsertRowid } = entry.run(id, line.seq, line.bytes)
    place.run(id, line.seq, lastInsertRowid)
    if (Number(lastInsertRowid) % recentPlaces === 0) movePlaces(connection)
  }
  for (const blob of batch.blobs ?? []) {
    sql("insert or ignore into blobs (run_id, hash, bytes) values (?, ?, coalesce(?, x''))").run(
      id,
      blob.hash,
      blob.bytes,
    )
  }
  for (const output of batch.outputs ?? []) {
    sql(
      'insert or ignore into outputs (run_id, crew, task, fingerprint, seq, completed_at) values (?, ?, ?, ?, ?, ?)',
    ).run(id, crew, output.task, output.fingerprint, output.seq, output.completedAt ?? now())
  }
  for (const message of batch.taken ?? []) {
    sql('update messages set taken = 1 where run_id = ? and message = ?').run(id, message)
  }
}

function movePlaces({ sql }: Connection): void {
  sql('insert into places select * from recent_places').run()
  sql('delete from recent_places').run()
}

function lastSeq(connection: Connection, id: number): number {
  const row = connection.sql('select seq from all_places where run_id = ? order by seq desc limit 1').get(id)
  return Number(row?.['seq'] ?? 0)
}
