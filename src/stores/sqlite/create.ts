// A run with its first batch. One that works for another has no lease of its own: it is created under that of its root.
import { randomUUID } from 'node:crypto'
import { parentRunId, rootRunId } from '../../journal/paths.ts'
import { isLease, type LeaseRequest } from '../rules/lease-request.ts'
import { dueTime } from '../rules/ready.ts'
import { checkNumbers, checkTree } from '../rules/refusals.ts'
import { rowColumns, rowValues } from '../rules/run-record.ts'
import type { Batch, Lease, RunRow } from '../store.ts'
import { insertBatch } from './append.ts'
import type { Connection } from './connection.ts'
import { acquireRoot } from './leases.ts'
import { endColumns, endValues, findRun } from './records.ts'
import { heldRoot, readyTime } from './roots.ts'

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
  row: RunRow,
  batch: Batch,
  asked: LeaseRequest | Lease | undefined,
): Promise<{ created: boolean; lease?: Lease }> {
  return connection.write(() => {
    if (findRun(connection, row.run) !== undefined) return { created: false }
    checkNumbers(row.run, 0, batch)
    const lease =
      parentRunId(row.run) === undefined && !isLease(asked)
        ? insertRoot(connection, row, batch, asked)
        : insertChild(connection, row, batch, asked)
    return lease === undefined ? { created: true } : { created: true, lease }
  })
}

function insertRoot(
  connection: Connection,
  row: RunRow,
  batch: Batch,
  asked: LeaseRequest | undefined,
): Lease | undefined {
  const now = connection.now()
  const { status } = batch.row ?? row
  const { floor } = connection.sql('select floor from tokens').get() as unknown as { floor: number }
  const due = dueTime(batch, now) ?? null
  const fresh = { run: row.run, status, due_at: due, waiting: 0, tries: 0 }
  if (asked === undefined) {
    const ready = readyTime({ ...fresh, expires_at: null }, now)
    insertRun(connection, row, batch, [floor, null, null, null, due, ready])
    return undefined
  }
  const lease = { run: row.run, token: floor + 1, id: randomUUID(), owner: asked.owner }
  const expires = now + asked.ttlMs
  const ready = readyTime({ ...fresh, expires_at: expires }, now)
  insertRun(connection, row, batch, [lease.token, JSON.stringify(lease.owner), expires, lease.id, due, ready])
  return lease
}

function insertChild(
  connection: Connection,
  row: RunRow,
  batch: Batch,
  asked: LeaseRequest | Lease | undefined,
): Lease | undefined {
  const lease = asked && leaseOfRoot(connection, row, asked)
  insertRun(connection, row, batch, [0, null, null, null, null, null])
  return lease
}

function leaseOfRoot(connection: Connection, { run }: RunRow, asked: LeaseRequest | Lease): Lease {
  if (!isLease(asked)) return acquireRoot(connection, run, asked.owner, asked.ttlMs)
  checkTree(asked, run)
  heldRoot(connection, asked)
  return asked
}

function insertRun(connection: Connection, row: RunRow, batch: Batch, lease: LeaseValues): void {
  const { lastInsertRowid } = connection
    .sql(insert)
    .run(row.run, rootRunId(row.run), ...rowValues(batch.row ?? row), ...endValues(batch), ...lease)
  insertBatch(connection, Number(lastInsertRowid), batch)
}
