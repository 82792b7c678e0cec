// Appends to a journal, in one transaction with everything else that the batch changes.
import { dueTime, recordsMessages } from '../rules/ready.ts'
import { checkInbox, checkNumbers, checkOpen, checkSeq, unknownRunError } from '../rules/refusals.ts'
import { checkTree } from '../rules/leases.ts'
import type { Batch, Lease, RunId, RunRow } from '../store.ts'
import type { Connection } from './connection.ts'
import { takeMessages, waitingIds } from './inbox.ts'
import { findEnd, lastIssued } from './journal.ts'
import { findRun, neverReady, replaceRow, changeRoot, heldRoot, readyColumns, readyTime } from './roots.ts'
import type { RowReady, ReadyRecord, RootRecord } from './roots.ts'

/**
 * The queries that check an append: they find the run and its root only if the run is open, ends at `after`, and is
 * held by the lease. They select few columns: reading the whole row takes longer than the insert.
 */
const openColumns = ['id', ...readyColumns, 'deaths']
const isOpen = `runs.status not in ('completed', 'cancelled') and ${lastIssued} = ?`
const selectOpen = `select runs.id as run_id, ${openColumns.join()} from runs
  where run = ? and token = ? and lease = ? and ${isOpen}`
const selectOpenChild = `select runs.id as run_id, ${openColumns.map((name) => `root.${name}`).join()}
  from runs join runs root on root.run = runs.root
  where runs.run = ? and root.run = ? and root.token = ? and root.lease = ? and ${isOpen}`

/** The record of the root, and the id of the run to append to. */
interface OpenRun extends ReadyRecord, Pick<RootRecord, 'deaths'> {
  readonly run_id: number
}

/** Returns how many messages wait for the tree. */
export function appendBatch(connection: Connection, lease: Lease, after: number, batch: Batch): Promise<number> {
  // a batch without a row is a plain step
  const write = batch.row === undefined ? connection.writeStep : connection.write
  return write(() => {
    const run = batch.run ?? lease.run
    const open = findOpen(connection, lease, run, after) ?? reopenOrRefuse(connection, lease, run, after, batch)
    checkNumbers(run, after, batch)
    checkInbox(run, batch, () => waitingIds(connection, open.run_id))
    const taken = takeMessages(connection, open.run_id, batch.taken ?? [])
    const unrecorded = recordsMessages(batch.row?.status) ? 0 : waitingIds(connection, open.run_id).length
    const waiting = open.waiting - taken - unrecorded
    const tries = batch.progress ? 0 : open.tries
    if (batch.progress && open.deaths > 0) connection.sql('update runs set deaths = 0 where id = ?').run(open.id)
    const isRoot = open.run_id === open.id
    if (batch.row !== undefined) {
      const ready = isRoot ? rootReady(connection, { ...open, waiting, tries }, batch, batch.row) : neverReady
      replaceRow(connection, open.run_id, batch.row, batch, ready)
    }
    // `replaceRow` has written the root's counters already
    const isRootWritten = isRoot && batch.row !== undefined
    if (!isRootWritten && (waiting !== open.waiting || tries !== open.tries)) {
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
  return { due_at, waiting, tries, ready_at: readyTime({ ...root, status: row.status, due_at }, at) }
}

function findOpen({ sql }: Connection, lease: Lease, run: RunId, after: number): OpenRun | undefined {
  const found =
    run === lease.run
      ? sql(selectOpen).get(run, lease.token, lease.id, after)
      : sql(selectOpenChild).get(run, lease.run, lease.token, lease.id, after)
  return found as OpenRun | undefined
}

/** Throws the reason for the refusal, or returns the completed run that the batch reopens. */
function reopenOrRefuse(connection: Connection, lease: Lease, run: RunId, after: number, batch: Batch): OpenRun {
  const root = heldRoot(connection, lease)
  checkTree(lease, run)
  const found = findRun(connection, run)
  if (found === undefined) throw unknownRunError(run, connection.url)
  checkSeq(run, findEnd(connection, run)?.issued ?? 0, after, batch)
  checkOpen(run, found.status, batch)
  return { ...root, run_id: found.id }
}

export function insertBatch({ sql, now }: Connection, id: number, batch: Batch): void {
  // coalesce: node:sqlite binds an empty array as null
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
