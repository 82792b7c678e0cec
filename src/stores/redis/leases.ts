// The right to write to a run. This process decides whether a lease is free, since only this machine knows which of its
// processes still run. The decision is written only if the lease has not changed since it was read.
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
    const [found, now, isThere] = await Promise.all([
      findRoot(database, root),
      findTime(database),
      database.read<number>(['EXISTS', database.key('run', run)]),
    ])
    if (isThere === 0) throw unknownRunError(run, database.url)
    if (found === undefined) throw unknownRunError(root, database.url)
    checkFree(run, found.holding, now, owner)
    const id = randomUUID()
    const given = [root, ...found.read, encodeOwner(owner), String(Math.ceil(ttlMs)), id]
    const token = await database.script<number>('acquire', given)
    if (token > 0) return { run: root, token, id, owner }
  }
}

/** Leases renewed by one script. A script blocks all other clients. */
const renewedAtOnce = 500

export async function renewLeases(
  database: Database,
  ...[leases, ttlMs]: Parameters<Store['renew']>
): ReturnType<Store['renew']> {
  const renewed: RenewedLease[] = []
  for (let first = 0; first < leases.length; first += renewedAtOnce) {
    const some = leases.slice(first, first + renewedAtOnce)
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
    const [root, now, places] = await Promise.all([
      findRoot(database, top),
      findTime(database),
      database.read<string[]>(['ZRANGE', database.key('tree', top), '0', '-1']),
    ])
    checkFree(run, root?.holding, now)
    const tree = places.map((place) => place.slice(place.indexOf('\0') + 1))
    const gone = tree.filter((each) => isInTreeOf(each, run))
    const expected = root?.read ?? ['', '', '']
    const given = [top, ...expected, String(places.length), ...listArguments(gone, (each) => [each])]
    if ((await database.script<number>('delete', given)) > 0) return gone
  }
}

/** Fields of a root as the server returns them. Without a lease, all but the token and the counters are empty. */
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
  /** For `next_is_as_read` in scripts/common.lua. */
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

/** LEASE_LOST. */
export function refuse(lease: Lease, [, ...values]: RefusedReply): never {
  const root = values.length === 0 ? undefined : toRoot(values)
  checkToken(lease, root?.token, root?.holding)
  throw new RepriseError('STORE_FAILED', `the lease of run ${lease.run} was refused although it is valid: try again`)
}
