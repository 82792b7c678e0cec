// Acquires, renews and releases leases, and deletes runs. Whether a lease is free is decided here, not on the server:
// only this machine knows which of its processes still run. The lease is written only if it hasn't changed meanwhile.
import { randomUUID } from 'node:crypto'
import { rootRunId, isInTreeOf } from '../../journal/paths.ts'
import { encodeOwner, readOwner } from '../owner.ts'
import type { RootLease } from '../rules/driver.ts'
import { checkFree, checkToken, type Holding } from '../rules/leases.ts'
import { unknownRunError } from '../rules/refusals.ts'
import type { Lease, Owner, RenewedLease, RunId, Tries, Store } from '../store.ts'
import { listArguments } from './batch-arguments.ts'
import { findTime, type Database } from './database.ts'
import { RepriseError } from '../../base/errors.ts'

export async function acquireLease(database: Database, run: RunId, owner: Owner, ttlMs: number): Promise<Lease> {
  const root = rootRunId(run)
  for (;;) {
    const [found, now, runExists] = await Promise.all([
      findRoot(database, root),
      findTime(database),
      database.read<number>(['EXISTS', database.key('run', run)]),
    ])
    if (runExists === 0) throw unknownRunError(run, database.url)
    if (found === undefined) throw unknownRunError(root, database.url)
    checkFree(run, found.holding, now, owner)
    const id = randomUUID()
    const args = [root, ...found.read, encodeOwner(owner), String(Math.ceil(ttlMs)), id]
    const token = await database.script<number>('acquire', args)
    if (token > 0) return { run: root, token, id, owner }
  }
}

/** Maximum number of leases that one script renews: a script blocks all other clients. */
const leasesPerScript = 500

export async function renewLeases(
  database: Database,
  ...[leases, ttlMs]: Parameters<Store['renew']>
): ReturnType<Store['renew']> {
  const renewed: RenewedLease[] = []
  for (let first = 0; first < leases.length; first += leasesPerScript) {
    const some = leases.slice(first, first + leasesPerScript)
    const waiting = await database.script<number[]>('renew', [
      String(Math.ceil(ttlMs)),
      ...listArguments(some, ({ run, token, id }) => [run, String(token), id]),
    ])
    const held = some.map((lease, index) => ({ lease, waiting: waiting[index] ?? -1 }))
    renewed.push(...held.filter((each) => each.waiting >= 0))
  }
  return renewed
}

/** Returns how many messages wait for the tree; undefined if the lease was no longer held. */
export async function releaseLease(database: Database, { run, token, id }: Lease): Promise<number | undefined> {
  const waiting = await database.script<number>('release', [run, String(token), id])
  return waiting < 0 ? undefined : waiting
}

export async function findLease(database: Database, run: RunId): Promise<RootLease | undefined> {
  const [root, now] = await Promise.all([findRoot(database, rootRunId(run)), findTime(database)])
  return root && { ...root, now }
}

/** Returns the deleted runs: the run and its child runs. */
export async function deleteRun(database: Database, run: RunId): Promise<RunId[]> {
  const top = rootRunId(run)
  for (;;) {
    const [root, now, positions] = await Promise.all([
      findRoot(database, top),
      findTime(database),
      database.read<string[]>(['ZRANGE', database.key('tree', top), '0', '-1']),
    ])
    checkFree(run, root?.holding, now)
    const tree = positions.map((position) => position.slice(position.indexOf('\0') + 1))
    const gone = tree.filter((each) => isInTreeOf(each, run))
    const expected = root?.read ?? ['', '', '']
    const args = [top, ...expected, String(positions.length), ...listArguments(gone, (each) => [each])]
    if ((await database.script<number>('delete', args)) > 0) return gone
  }
}

/** Fields of a root as the server returns them. The fields of the lease are empty if there is none. */
type RootValues = [
  token: number | string,
  lease: string,
  owner: string,
  expiresAt: number | string,
  tries?: string,
  deaths?: string,
]

export interface Root extends Tries {
  readonly token: number
  readonly holding: Holding | undefined
  /** The lease as it was read, for `is_lease_unchanged` in scripts/common.lua. */
  readonly read: readonly string[]
}

export async function findRoot({ read, key }: Database, root: RunId): Promise<Root | undefined> {
  const fields = ['token', 'lease', 'owner', 'expires_at', 'tries', 'deaths']
  const [token, ...rest] = await read<(string | null)[]>(['HMGET', key('run', root), ...fields])
  return token == null ? undefined : toRoot([token, ...rest.map((value) => value ?? '')] as RootValues)
}

function toRoot([token, lease, ownerText, expiresAt, tries, deaths]: RootValues): Root {
  const owner = readOwner(ownerText)
  return {
    token: Number(token),
    holding: owner && { owner, id: lease, expiresAt: Number(expiresAt) },
    tries: Number(tries ?? 0),
    deaths: Number(deaths ?? 0),
    read: [String(token), lease, String(expiresAt)],
  }
}

/** The current lease of the root; no values if there is no root. */
export type RefusedReply = ['lease', ...values: RootValues | []]

/** Throws LEASE_LOST. */
export function refuse(lease: Lease, [, ...values]: RefusedReply): never {
  const root = values.length === 0 ? undefined : toRoot(values)
  checkToken(lease, root?.token, root?.holding)
  throw new RepriseError('STORE_FAILED', `the lease of run ${lease.run} was refused although it is valid: try again`)
}
