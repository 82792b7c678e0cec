// Creating runs, appending to them and reading them back.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { rootRun } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { checkInbox, checkNumbers, checkOpen, checkSeq, checkToken, runNotFound } from '../refusals.ts'
import type { Batch, Lease, Line, NotedEnd, Owner, RunId, RunRow } from '../store.ts'
import type { Connection } from './connection.ts'
import type { Piece } from './places.ts'
import {
  damagedRow,
  endColumns,
  endValues,
  findLease,
  holdingOf,
  replaceRow,
  rowColumns,
  rowValues,
} from './records.ts'

const inserted = ['run', 'root', ...rowColumns, ...endColumns, 'token', 'owner', 'expires_at']
const insertRun = `insert into runs (${inserted.join()}) values (${inserted.map(() => '?').join()})`

/** What an append must find in the row of its run: the answer is a row when all is well. */
const selectWritable = `select id, crew, last_seq from runs
  where run = ? and token = ? and owner is not null and status not in ('completed', 'cancelled')`

/** How much of a journal is read in one turn of the event loop. A line seldom has more than 64 KB, since larger values are blobs. */
const chunkLines = 64

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
      rootRun(first.run),
      ...rowValues(row),
      ...endValues(batch),
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
  // nothing ends, is listed or waits without a row
  const write = batch.row === undefined ? connection.writeStep : connection.write
  return write(() => {
    const known = writable.get(lease.run)
    const { id, crew } =
      known?.token === lease.token && known.last === after ? known : findWritable(connection, lease, after, batch)
    checkNumbers(lease.run, after, batch)
    checkInbox(lease.run, batch, () => waitingIds(connection, id))
    const { row, lines } = batch
    if (row !== undefined) replaceRow(connection, id, row, batch)
    insertBatch(connection, id, row?.crew ?? crew, batch)
    if (isEnded(row?.status)) writable.delete(lease.run)
    else writable.set(lease.run, { id, crew: row?.crew ?? crew, token: lease.token, last: after + lines.length })
  })
}

function waitingIds({ sql }: Connection, id: number): string[] {
  return sql('select message from messages where run_id = ? and taken = 0')
    .all(id)
    .map((row) => String(row['message']))
}

type Found = { readonly id: number; readonly crew: string; readonly last_seq: number }

function findWritable(connection: Connection, lease: Lease, after: number, batch: Batch): Found {
  const found = connection.sql(selectWritable).get(lease.run, lease.token) as Found | undefined
  const writable = found !== undefined && lastSeq(connection, found) === after
  return writable ? found : lookCloser(connection, lease, after, batch)
}

/** Says why a run may not be appended to, or that it may all the same: a completed run that the batch opens again. */
function lookCloser(connection: Connection, lease: Lease, after: number, batch: Batch): Found {
  const record = findLease(connection, lease.run)
  checkToken(lease, record?.token, record && holdingOf(record))
  if (record === undefined) throw runNotFound(lease.run, connection.url)
  checkSeq(lease.run, lastSeq(connection, record), after, batch)
  checkOpen(lease.run, record.status, batch)
  return record
}

/** The last number that was given: the lines behind the last that is there may be lost. */
function lastSeq({ places }: Connection, { id, last_seq: noted }: Pick<Found, 'id' | 'last_seq'>): number {
  return Math.max(places.last(id), noted)
}

export function findNoted(connection: Connection, run: RunId): Promise<NotedEnd | undefined> {
  return connection.read(() => {
    const record = findLease(connection, run)
    if (record === undefined) return undefined
    const seq = lastSeq(connection, record)
    return { seq, ...(seq === record.last_seq && record.last_hash !== null ? { hash: record.last_hash } : {}) }
  })
}

export async function* readLines(connection: Connection, run: RunId, after: number): AsyncIterable<Line> {
  // The end is fixed when the read begins; a journal only grows, so what lies before it cannot change under way.
  const found = await connection.read(() => {
    const record = findLease(connection, run)
    return record === undefined ? undefined : { id: record.id, last: connection.places.last(record.id) }
  })
  if (found === undefined) return
  let next = after + 1
  let piece: Piece | undefined
  while (next <= found.last) {
    const chunk = await connection.read(() => {
      const at = next
      if (!piece || at >= piece.first + piece.entries.length) piece = connection.places.find(found.id, at)
      if (!piece) return undefined
      const from = at - piece.first
      const ids = piece.entries.slice(from, Math.min(from + chunkLines, found.last + 1 - piece.first))
      return { lines: linesAt(connection, { run, id: found.id }, ids), places: ids.length }
    })
    // Deleted in the meantime.
    if (chunk === undefined) return
    yield* chunk.lines
    // lines that were lost leave numbers of which no piece tells
    next += Math.max(chunk.places, 1)
    if (next <= found.last) await nextTurn()
  }
}

function linesAt({ sql }: Connection, { run, id }: { run: RunId; id: number }, ids: readonly number[]): Line[] {
  // `cross` keeps the order of the tables: that of the ids. When the run was deleted, they may be those of another's entries.
  const select = sql(
    'select seq, line from json_each(?) as wanted cross join entries on entries.id = wanted.value where run_id = ?',
  )
  select.setReturnArrays(true)
  const rows = select.all(JSON.stringify(ids), id) as unknown as [number, unknown][]
  return rows.map(([seq, bytes]) => ({ seq, bytes: bytesOf(bytes, `entry ${seq} of run ${run}`) }))
}

/** SQLite keeps values of any type in any column. */
function bytesOf(value: unknown, what: string): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw damagedRow(what)
}

export async function readBlob(connection: Connection, run: RunId, hash: string): Promise<Uint8Array | undefined> {
  const row = await connection.read(() =>
    connection
      .sql('select b.bytes from blobs b join runs r on r.id = b.run_id where r.run = ? and b.hash = ?')
      .get(run, hash),
  )
  return row && bytesOf(row['bytes'], `the stored value ${hash} of run ${run}`)
}

function insertBatch({ sql, now, places }: Connection, id: number, crew: string, batch: Batch): void {
  // coalesce: node:sqlite binds an empty array as null.
  const insert = sql("insert into entries (run_id, seq, line) values (?, ?, coalesce(?, x''))")
  for (const { seq, bytes } of batch.lines) {
    const { lastInsertRowid } = insert.run(id, seq, bytes)
    places.add(id, seq, Number(lastInsertRowid))
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
