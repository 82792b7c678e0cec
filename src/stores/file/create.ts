// Creates a run with its first batch. A child run has no lease: it is created under the lease of its root.
import { parentRunId, rootRunId } from '../../journal/paths.ts'
import { isLease, type CreateResult, type LeaseRequest, checkTree } from '../rules/leases.ts'
import { neverTried } from '../rules/ready.ts'
import { checkNumbers } from '../rules/refusals.ts'
import type { Batch, Lease, RunId, RunRow, Store } from '../store.ts'
import { unsureFirst, type Connection } from './connection.ts'
import { appendLines, type JournalState } from './journal-file.ts'
import { acquireRoot, checkLease, grantLease } from './leases.ts'
import { readReadiness } from './readiness.ts'
import type { Roots } from './roots.ts'

export function createRun(
  connection: Connection,
  ...[row, batch, lease]: Parameters<Store['create']>
): ReturnType<Store['create']> {
  return connection.lockedRoot<CreateResult>(rootRunId(row.run), async (roots, root) => {
    if ((await connection.files.load(row.run)) !== undefined) return { created: false }
    checkNumbers(row.run, 0, batch)
    if (parentRunId(row.run) !== undefined || isLease(lease)) return createChild(connection, roots, row, batch, lease)
    // the next claim reads runs that the table doesn't have yet
    if (root.lane !== undefined && !root.unsure) return unsureFirst
    const readiness = readReadiness(await writeFirst(connection, row, batch))
    const { token } = root
    roots.put(row.run, { ...readiness, ...neverTried, token, holding: undefined, waiting: 0, unsure: false })
    if (lease === undefined) return { created: true }
    return { created: true, lease: grantLease(roots, row.run, lease.owner, connection.now() + lease.ttlMs, 0) }
  })
}

async function createChild(
  connection: Connection,
  roots: Roots,
  row: RunRow,
  batch: Batch,
  lease: LeaseRequest | Lease | undefined,
): Promise<CreateResult> {
  const rootLease = lease && (await leaseOfRoot(connection, roots, row.run, lease))
  await writeFirst(connection, row, batch)
  return rootLease === undefined ? { created: true } : { created: true, lease: rootLease }
}

async function leaseOfRoot(
  connection: Connection,
  roots: Roots,
  run: RunId,
  lease: LeaseRequest | Lease,
): Promise<Lease> {
  if (!isLease(lease)) return acquireRoot(connection, roots, run, lease.owner, lease.ttlMs)
  checkTree(lease, run)
  checkLease(roots, lease, (await connection.loadUndamaged(lease.run)) !== undefined)
  return lease
}

async function writeFirst({ files, now }: Connection, row: RunRow, batch: Batch): Promise<JournalState> {
  const state = await files.startOver(row.run)
  await files.addBlobs(row.run, batch.blobs ?? [])
  await appendLines(state, { ...batch, taken: [] }, { ...(batch.row ?? row), run: row.run }, now())
  await files.keep(row.run, state)
  return state
}
