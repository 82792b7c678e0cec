// Creating runs, appending to them and reading them back.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { rootRun } from '../../journal/paths.ts'
import { checkInbox, checkNumbers, checkOpen, checkSeq, checkToken, runNotFound } from '../refusals.ts'
import type { Batch, Lease, Line, NotedEnd, Owner, RunId, RunRow } from '../store.ts'
import type { Connection } from './connection.ts'
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

/**
 * How much of a journal is read in one turn of the event loop. A line seldom has more than 64 KB, since larger values
 * are blobs.
 */
const chunkLines = 64

/**
 * The number of the last line that is there, and the last number that was given: the lines after the last may be lost.
 */
const lastLine = '(select coalesce(max(seq), 0) from entries where run_id = runs.id)'
const lastGiven = `max(last_seq, ${lastLine})`
const selectEnd = `select id, ${lastLine} as line, ${lastGiven} as given, last_seq, last_hash from runs where run = ?`

/**
 * Finds the run when all is well for an append. One narrow question: to read the whole row costs more than the insert
 * itself.
 */
const selectOpen = `select id from runs where run = ? and token = ? and owner is not null
  and status not in ('completed', 'cancelled') and ${lastGiven} = ?`
const selectLines = `select seq, line from entries where run_id = ? and seq > ? and seq <= ? order by seq limit ${chunkLines}`

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
    insertBatch(connection, Number(lastInsertRowid), batch)
    if (lease === undefined) return { created: true }
    return { created: true, lease: { run: first.run, token, owner: lease.owner } }
  })
}

export function appendBatch(connection: Connection, lease: Lease, after: number, batch: Batch): Promise<void> {
  // nothing ends, is listed or waits without a row
  const write = batch.row === undefined ? connection.writeStep : connection.write
  return write(() => {
    const open = connection.sql(selectOpen).get(lease.run, lease.token, after) as { id: number } | undefined
    const id = open?.id ?? lookCloser(connection, lease, after, batch)
    checkNumbers(lease.run, after, batch)
    checkInbox(lease.run, batch, () => waitingIds(connection, id))
    if (batch.row !== undefined) replaceRow(connection, id, batch.row, batch)
    insertBatch(connection, id, batch)
  })
}

/** Says why a run may not be appended to, or that it may all the same: a completed run that the batch opens again. */
function lookCloser(connection: Connection, lease: Lease, after: number, batch: Batch): number {
  const record = findLease(connection, lease.run)
  checkToken(lease, record?.token, record && holdingOf(record))
  if (record === undefined) throw runNotFound(lease.run, connection.url)
  checkSeq(lease.run, findEnd(connection, lease.run)?.given ?? 0, after, batch)
  checkOpen(lease.run, record.status, batch)
  return record.id
}

function waitingIds({ sql }: Connection, id: number): string[] {
  return sql('select message from messages where run_id = ? and taken = 0')
    .all(id)
    .map((row) => String(row['message']))
}

interface End {
  readonly id: number
  readonly line: number
  readonly given: number
  readonly last_seq: number
  readonly last_hash: string | null
}

function findEnd({ sql }: Connection, run: RunId): End | undefined {
  return sql(selectEnd).get(run) as End | undefined
}

export function findNoted(connection: Connection, run: RunId): Promise<NotedEnd | undefined> {
  return connection.read(() => {
    const end = findEnd(connection, run)
    if (end === undefined) return undefined
    const hash = end.given === end.last_seq ? end.last_hash : null
    return { seq: end.given, ...(hash === null ? {} : { hash }) }
  })
}

export async function* readLines(connection: Connection, run: RunId, after: number): AsyncIterable<Line> {
  // The end is fixed when the read begins; a journal only grows, so what lies before it cannot change meanwhile.
  const end = await connection.read(() => findEnd(connection, run))
  if (end === undefined) return
  let read = after
  while (read < end.line) {
    const lines = await connection.read(() => linesBetween(connection, run, end, read))
    yield* lines
    // Without any, the run was deleted in the meantime.
    read = lines.at(-1)?.seq ?? end.line
    if (read < end.line) await nextTurn()
  }
}

function linesBetween({ sql }: Connection, run: RunId, end: End, after: number): Line[] {
  const select = sql(selectLines)
  select.setReturnArrays(true)
  const rows = select.all(end.id, after, end.line) as unknown as [number, unknown][]
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

function insertBatch({ sql, now }: Connection, id: number, batch: Batch): void {
  // coalesce: node:sqlite binds an empty array as null.
  const insert = sql("insert into entries (run_id, seq, line) values (?, ?, coalesce(?, x''))")
  for (const { seq, bytes } of batch.lines) insert.run(id, seq, bytes)
  for (const blob of batch.blobs ?? []) {
    sql("insert or ignore into blobs (run_id, hash, bytes) values (?, ?, coalesce(?, x''))").run(
      id,
      blob.hash,
      blob.bytes,
    )
  }
  for (const output of batch.outputs ?? []) {
    sql(
      `insert or ignore into outputs (run_id, crew, task, fingerprint, seq, completed_at)
       select id, crew, ?, ?, ?, ? from runs where id = ?`,
    ).run(output.task, output.fingerprint, output.seq, output.completedAt ?? now(), id)
  }
  for (const message of batch.taken ?? []) {
    sql('update messages set taken = 1 where run_id = ? and message = ?').run(id, message)
  }
}
