// Acquires, renews and releases leases of roots, and deletes runs that have no holder.
import { rootRunId, isInTreeOf } from '../../journal/paths.ts'
import { sameOwner } from '../owner.ts'
import { afterDeath, afterReturn, neverTried } from '../rules/ready.ts'
import type { RootLease } from '../rules/driver.ts'
import { checkFree, checkToken } from '../rules/leases.ts'
import type { Lease, Owner, RunId, Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { refreshRoot } from './readiness.ts'
import { notReady, type Roots, type StoredRoot } from './roots.ts'

export function acquireLease(connection: Connection, run: RunId, owner: Owner, ttlMs: number): Promise<Lease> {
  return connection.locked(async (roots) => {
    await connection.loadExisting(run)
    return acquireRoot(connection, roots, run, owner, ttlMs)
  })
}

/** Rejects with RUN_HELD, or with RUN_NOT_FOUND if the run has no root. */
export async function acquireRoot(
  { loadExisting, files, now }: Connection,
  roots: Roots,
  run: RunId,
  owner: Owner,
  ttlMs: number,
): Promise<Lease> {
  const root = rootRunId(run)
  await loadExisting(root)
  checkFree(run, roots.get(root).holding, now(), owner)
  const { tries } = await refreshRoot(files, roots, root)
  return grantLease(roots, root, owner, now() + ttlMs, Math.max(1, tries))
}

export function grantLease(roots: Roots, run: RunId, owner: Owner, expiresAt: number, tries: number): Lease {
  const root = roots.get(run)
  const death = root.holding && !sameOwner(root.holding.owner, owner) ? afterDeath(root) : {}
  const lease: Lease = { run, token: root.token + 1, id: crypto.randomUUID(), owner }
  roots.put(run, { ...root, ...death, token: lease.token, holding: { owner, id: lease.id, expiresAt }, tries })
  return lease
}

export function checkLease(roots: Roots, lease: Lease, exists: boolean): void {
  const { token, holding } = roots.get(lease.run)
  checkToken(lease, exists ? token : undefined, holding)
}

export function renewLeases(
  { locked, now }: Connection,
  ...[leases, ttlMs]: Parameters<Store['renew']>
): ReturnType<Store['renew']> {
  return locked((roots) =>
    leases.flatMap((lease) => {
      const root = heldRoot(roots, lease)
      if (root?.holding === undefined) return []
      roots.put(lease.run, { ...root, holding: { ...root.holding, expiresAt: now() + ttlMs } })
      return [{ lease, waiting: root.waiting }]
    }),
  )
}

/** Returns how many messages wait for the tree; undefined if the lease was no longer held. */
export async function releaseLease({ files, locked }: Connection, lease: Lease): Promise<number | undefined> {
  const released = await locked(async (roots) => {
    if (heldRoot(roots, lease) === undefined) {
      const root = roots.get(lease.run)
      const counts = afterReturn(root, lease.token)
      if (counts.deaths !== undefined) roots.put(lease.run, { ...root, ...counts })
      return undefined
    }
    const root = await refreshRoot(files, roots, lease.run)
    roots.put(lease.run, { ...root, holding: undefined })
    return root
  })
  return released?.waiting
}

function heldRoot(roots: Roots, { run, token, id }: Lease): StoredRoot | undefined {
  const root = roots.get(run)
  return root.token === token && root.holding?.id === id ? root : undefined
}

export function findLease({ readRoots, now }: Connection, run: RunId): Promise<RootLease> {
  return readRoots((roots) => ({ ...roots.get(rootRunId(run)), now: now() }))
}

const untried = { ...neverTried, holding: undefined, unsure: false } as const

/** Returns the deleted runs: the run and its child runs. */
export function deleteRun({ files, locked, now }: Connection, run: RunId): Promise<RunId[]> {
  return locked(async (roots) => {
    const root = roots.get(rootRunId(run))
    checkFree(run, root.holding, now())
    const existing = (await files.ids()).filter((id) => isInTreeOf(id, run))
    // the run first: child runs that a kill leaves are never offered, and a new run of this id doesn't adopt them
    const deleted = [run, ...existing.filter((id) => id !== run)]
    for (const id of deleted) await files.remove(id)
    // the token stays, so that a new run of this id continues from it and old holders stay fenced out
    if (rootRunId(run) !== run && existing.length > 0) await refreshRoot(files, roots, rootRunId(run))
    else if (rootRunId(run) === run && (root.token > 0 || root.lane !== undefined))
      roots.put(run, { ...root, ...notReady, ...untried })
    return deleted
  })
}
