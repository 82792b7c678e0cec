// Appending to runs and reading them back.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { dueTime, recordsMessages } from '../rules/ready.ts'
import { checkInbox, checkNumbers, checkOpen, checkSeq, checkUnit, runNotFound } from '../rules/refusals.ts'
import type { Batch, Lease, Line, NotedEnd, RunId, RunRow } from '../store.ts'
import type { Connection } from './connection.ts'
import { takeMessages, waitingIds } from './sqlite-inbox.ts'
import { damagedRow, findRun, neverReady, replaceRow, type RowReady } from './records.ts'
import { changeRoot, heldRoot, readyColumns, readyOf, type ReadyRecord, type RootRecord } from './roots.ts'

/**
 * How much of a journal is read in one turn of the event loop. A line seldom has more than 64 KB, since larger values
 * are blobs.
 */
const chunkLines = 64

/**
 * The number of the last line that is there, and the last number that was given: the lines after the last may be lost.
 */
const lastLine = '(select coalesce(max(seq), 0) from entries where run_id = runs.id)'
const lastGiven = `max(runs.last_seq, ${lastLine})`
const selectEnd = `select id, ${lastLine} as line, ${lastGiven} as given, last_seq, last_hash from runs where run = ?`

/**
 * Finds the run when all is well for an append, with its root. One narrow question: to read the whole row costs more
 * than the insert itself.
 */
const openColumns = ['id', ...readyColumns, 'deaths']
const isOpen = `runs.status not in ('completed', 'cancelled') and ${lastGiven} = ?`
const selectOpen = `select runs.id as run_id, ${openColumns.join()} from runs
  where run = ? and token = ? and lease = ? and ${isOpen}`
const selectOpenChild = `select runs.id as run_id, ${openColumns.map((name) => `top.${name}`).join()}
  from runs join runs top on top.run = runs.root
  where runs.run = ? and top.run = ? and top.token = ? and top.lease = ? and ${isOpen}`
const selectLines = `select seq, line from entries where run_id = ? and seq > ? and seq <= ? order by seq limit ${chunkLines}`

/** A run that may be appended to: its own id, and the record of its root. */
interface Open extends ReadyRecord, Pick<RootRecord, 'deaths'> {
  readonly run_id: number
}

/** How many messages wait for the unit. */
export function appendBatch(connection: Connection, lease: Lease, after: number, batch: Batch): Promise<number> {
  // nothing ends, is listed or waits without a row
  const write = batch.row === undefined ? connection.writeStep : connection.write
  return write(() => {
    const run = batch.run ?? lease.run
    const open = findOpen(connection, lease, run, after) ?? lookCloser(connection, lease, run, after, batch)
    checkNumbers(run, after, batch)
    checkInbox(run, batch, () => waitingIds(connection, open.run_id))
    const taken = takeMessages(connection, open.run_id, batch.taken ?? [])
    const left = recordsMessages(batch.row?.status) ? 0 : waitingIds(connection, open.run_id).length
    const waiting = open.waiting - taken - left
    const tries = batch.progress ? 0 : open.tries
    if (batch.progress && open.deaths > 0) connection.sql('update runs set deaths = 0 where id = ?').run(open.id)
    const isRoot = open.run_id === open.id
    if (batch.row !== undefined) {
      const ready = isRoot ? rootReady(connection, { ...open, waiting, tries }, batch, batch.row) : neverReady
      replaceRow(connection, open.run_id, batch.row, batch, ready)
    }
    // a plain step does not write the row
    const isWritten = isRoot && batch.row !== undefined
    if (!isWritten && (waiting !== open.waiting || tries !== open.tries)) {
      changeRoot(connection, open, { waiting, tries })
    }
    insertBatch(connection, open.run_id, batch)
    return waiting
  })
}

function rootReady({ now }: Connection, root: ReadyRecord, batch: Batch, row: RunRow): RowReady {
  const { waiting, tries } = root
  const at = now()
  const due_at = dueTime(batch, at) ?? null
  return { due_at, waiting, tries, ready_at: readyOf({ ...root, status: row.status, due_at }, at) }
}

function findOpen({ sql }: Connection, lease: Lease, run: RunId, after: number): Open | undefined {
  const found =
    run === lease.run
      ? sql(selectOpen).get(run, lease.token, lease.id, after)
      : sql(selectOpenChild).get(run, lease.run, lease.token, lease.id, after)
  return found as Open | undefined
}

/** Says why a run may not be appended to, or that it may all the same: a completed run that the batch opens again. */
function lookCloser(connection: Connection, lease: Lease, run: RunId, after: number, batch: Batch): Open {
  const root = heldRoot(connection, lease)
  checkUnit(lease, run)
  const found = findRun(connection, run)
  if (found === undefined) throw runNotFound(run, connection.url)
  checkSeq(run, findEnd(connection, run)?.given ?? 0, after, batch)
  checkOpen(run, found.status, batch)
  return { ...root, run_id: found.id }
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

export function insertBatch({ sql, now }: Connection, id: number, batch: Batch): void {
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
}
