// Acquires, renews and releases leases, and deletes runs. Writes run under the database's write lock, so two processes
// never take the same free run.
import { randomUUID } from 'node:crypto'
import { rootRunId, isInTreeOf } from '../../journal/paths.ts'
import { sameOwner } from '../owner.ts'
import { afterDeath, recordsMessages } from '../rules/ready.ts'
import type { RootLease } from '../rules/driver.ts'
import { checkFree, toHolding } from '../rules/leases.ts'
import { unknownRunError } from '../rules/refusals.ts'
import type { Lease, Owner, RenewedLease, RunId, RunStatus } from '../store.ts'
import type { Connection } from './connection.ts'
import { waitingIds } from './inbox.ts'
import { findRun, changeRoot, deathColumns, findRoot, rootColumns, type RootRecord } from './roots.ts'

/** The columns of a root without a holder. */
export const noLease = { owner: null, expires_at: null, lease: null } as const

export function acquireLease(connection: Connection, run: RunId, owner: Owner, ttlMs: number): Promise<Lease> {
  return connection.write(() => {
    if (findRun(connection, run) === undefined) throw unknownRunError(run, connection.url)
    return acquireRoot(connection, run, owner, ttlMs)
  })
}

/** Call within a write. Throws RUN_HELD, or RUN_NOT_FOUND if the run has no root. */
export function acquireRoot(connection: Connection, run: RunId, owner: Owner, ttlMs: number): Lease {
  const root = findRoot(connection, run)
  if (root === undefined) throw unknownRunError(rootRunId(run), connection.url)
  checkFree(run, toHolding(root), connection.now(), owner)
  return grantLease(connection, root, owner, ttlMs, Math.max(1, root.tries))
}

export function renewLeases(connection: Connection, leases: readonly Lease[], ttlMs: number): Promise<RenewedLease[]> {
  return connection.write(() => {
    const expires_at = connection.now() + ttlMs
    return leases.flatMap((lease) => {
      const root = stillHeld(connection, lease)
      if (root === undefined) return []
      changeRoot(connection, root, { expires_at })
      return [{ lease, waiting: root.waiting }]
    })
  })
}

/** Returns how many messages wait for the tree; undefined if the lease was no longer held. */
export function releaseLease(connection: Connection, lease: Lease): Promise<number | undefined> {
  return connection.write(() => {
    const root = stillHeld(connection, lease)
    if (root === undefined) {
      undoDeath(connection, lease)
      return undefined
    }
    changeRoot(connection, root, noLease)
    return root.waiting
  })
}

function stillHeld(connection: Connection, { run, token, id }: Lease): RootRecord | undefined {
  const found = connection
    .sql(`select ${rootColumns} from runs where run = ? and token = ? and lease = ?`)
    .get(run, token, id)
  return found as RootRecord | undefined
}

/** Corrects a counted death: the holder was only paused. */
function undoDeath({ sql }: Connection, { run, token }: Lease): void {
  const columns = 'deaths = deaths - 1, death_token = 0'
  sql(`update runs set ${columns} where run = ? and death_token = ? and deaths > 0`).run(run, token)
}

export async function findLease(connection: Connection, run: RunId): Promise<RootLease | undefined> {
  const root = await connection.read(() => findRoot(connection, run))
  return root && { holding: toHolding(root), now: connection.now(), tries: root.tries, deaths: root.deaths }
}

interface TreeRecord {
  readonly id: number
  readonly run: string
  readonly status: RunStatus
}

/** Returns the deleted runs: the run and its child runs. */
export function deleteRun(connection: Connection, run: RunId): Promise<RunId[]> {
  const { sql } = connection
  return connection.write(() => {
    const root = findRoot(connection, run)
    checkFree(run, toHolding(root), connection.now())
    const tree = sql('select id, run, status from runs where root = ?').all(rootRunId(run)) as unknown as TreeRecord[]
    const deleted = tree.filter((each) => isInTreeOf(each.run, run))
    const recording = deleted.filter(({ status }) => recordsMessages(status))
    const waiting = recording.reduce((count, { id }) => count + waitingIds(connection, id).length, 0)
    for (const { id } of deleted) sql('delete from runs where id = ?').run(id)
    if (root?.run === run) sql('update tokens set floor = max(floor, ?)').run(root.token)
    else if (root !== undefined && deleted.length > 0) changeRoot(connection, root, { waiting: root.waiting - waiting })
    return deleted.map((each) => each.run)
  })
}

export function grantLease(
  connection: Connection,
  root: RootRecord,
  owner: Owner,
  ttlMs: number,
  tries: number,
): Lease {
  const before = toHolding(root)
  const death = before && !sameOwner(before.owner, owner) ? deathColumns(afterDeath(root)) : {}
  const lease = { run: root.run, token: root.token + 1, id: randomUUID(), owner }
  const expires_at = connection.now() + ttlMs
  changeRoot(connection, root, {
    token: lease.token,
    owner: JSON.stringify(owner),
    expires_at,
    lease: lease.id,
    tries,
    ...death,
  })
  return lease
}
