// Creates a run with its first batch. A child run has no lease: it is created under the lease of its root.
import { randomUUID } from 'node:crypto'
import { parentRunId, rootRunId } from '../../journal/paths.ts'
import { isLease, type LeaseRequest, checkTree } from '../rules/leases.ts'
import { dueTime } from '../rules/ready.ts'
import { checkNumbers } from '../rules/refusals.ts'
import { rowColumns, rowValues } from '../rules/run-record.ts'
import type { Batch, Lease, RunId, RunRow, Store } from '../store.ts'
import { insertBatch } from './append.ts'
import type { Connection } from './connection.ts'
import { acquireRoot } from './leases.ts'
import { endColumns, endValues, findRun, heldRoot, readyTime } from './roots.ts'

const leaseColumns = ['token', 'owner', 'expires_at', 'lease', 'due_at', 'ready_at']
const inserted = ['run', 'root', ...rowColumns, ...endColumns, ...leaseColumns]
const insert = `insert into runs (${inserted.join()}) values (${inserted.map(() => '?').join()})`

type LeaseValues = readonly [
  token: number,
  owner: string | null,
  expiresAt: number | null,
  lease: string | null,
  dueAt: number | null,
  readyAt: number | null,
]

export function createRun(
  connection: Connection,
  ...[row, batch, lease]: Parameters<Store['create']>
): ReturnType<Store['create']> {
  return connection.write(() => {
    if (findRun(connection, row.run) !== undefined) return { created: false }
    checkNumbers(row.run, 0, batch)
    const granted =
      parentRunId(row.run) === undefined && !isLease(lease)
        ? createRoot(connection, row, batch, lease)
        : createChild(connection, row, batch, lease)
    return granted === undefined ? { created: true } : { created: true, lease: granted }
  })
}

function createRoot(
  connection: Connection,
  row: RunRow,
  batch: Batch,
  request: LeaseRequest | undefined,
): Lease | undefined {
  const now = connection.now()
  const { status } = batch.row ?? row
  const { floor } = connection.sql('select floor from tokens').get() as unknown as { floor: number }
  const due = dueTime(batch, now) ?? null
  const fresh = { run: row.run, status, due_at: due, waiting: 0, tries: 0 }
  if (request === undefined) {
    const ready = readyTime({ ...fresh, expires_at: null }, now)
    insertRun(connection, row, batch, [floor, null, null, null, due, ready])
    return undefined
  }
  const lease = { run: row.run, token: floor + 1, id: randomUUID(), owner: request.owner }
  const expires = now + request.ttlMs
  const ready = readyTime({ ...fresh, expires_at: expires }, now)
  insertRun(connection, row, batch, [lease.token, JSON.stringify(lease.owner), expires, lease.id, due, ready])
  return lease
}

function createChild(
  connection: Connection,
  row: RunRow,
  batch: Batch,
  lease: LeaseRequest | Lease | undefined,
): Lease | undefined {
  const rootLease = lease && leaseOfRoot(connection, row.run, lease)
  insertRun(connection, row, batch, [0, null, null, null, null, null])
  return rootLease
}

function leaseOfRoot(connection: Connection, run: RunId, lease: LeaseRequest | Lease): Lease {
  if (!isLease(lease)) return acquireRoot(connection, run, lease.owner, lease.ttlMs)
  checkTree(lease, run)
  heldRoot(connection, lease)
  return lease
}

function insertRun(connection: Connection, row: RunRow, batch: Batch, lease: LeaseValues): void {
  const { lastInsertRowid } = connection
    .sql(insert)
    .run(row.run, rootRunId(row.run), ...rowValues(batch.row ?? row), ...endValues(batch), ...lease)
  insertBatch(connection, Number(lastInsertRowid), batch)
}
