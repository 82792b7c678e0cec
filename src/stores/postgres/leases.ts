// Acquires, renews and releases leases, and deletes runs. Whether a lease is free is decided here, not on the server:
// only this machine knows which of its processes still run. The lease is written only if it hasn't changed meanwhile.
import { randomUUID } from 'node:crypto'
import { rootRunId, isInTreeOf } from '../../journal/paths.ts'
import { sameOwner, encodeOwner } from '../owner.ts'
import type { RootLease } from '../rules/driver.ts'
import { checkFree, toHolding } from '../rules/leases.ts'
import { unknownRunError } from '../rules/refusals.ts'
import type { Lease, Owner, RunId, Store } from '../store.ts'
import { binaryColumn } from './columns.ts'
import { nowSql, type Database, noticeText, notifySql, deathSql, readySql, type ReadySql } from './database.ts'

/** The columns that decide when a head is ready, except the lease. */
export const unchanged: Omit<ReadySql, 'expiresAt'> = {
  status: 'h.status',
  dueAt: 'h.due_at',
  waiting: 'h.waiting',
  tries: 'h.tries',
  now: nowSql,
}
export const freed: string = `owner = null, lease = null, expires_at = null,
  ready_at = ${readySql({ ...unchanged, expiresAt: 'null::int8' })}`

export async function acquireLease(database: Database, run: RunId, owner: Owner, ttlMs: number): Promise<Lease> {
  const { schema } = database
  const root = rootRunId(run)
  for (;;) {
    const [found] = await database.read<RootRecord>(
      `select ${rootColumns} from ${schema}.heads h left join ${schema}.heads r on r.run = $3
       where h.run = $2`,
      [database.now(), run, root],
    )
    if (found === undefined) throw unknownRunError(run, database.url)
    if ((found.id as number | null) === null) throw unknownRunError(root, database.url)
    const holding = toHolding(found)
    checkFree(run, holding, found.now, owner)
    const isDeath = holding !== undefined && !sameOwner(holding.owner, owner)
    const tries = 'greatest(h.tries, 1)'
    const id = randomUUID()
    const expiresAt = `${nowSql} + $2::int8`
    const [taken] = await database.write<{ token: number }>(
      `update ${schema}.heads h set token = ${nextToken(schema)}, lease = $3, owner = $4, expires_at = ${expiresAt},
         ${deathSql(String(isDeath))}, tries = ${tries}, ready_at = ${readySql({ ...unchanged, tries, expiresAt })}
       where h.run = $5 and h.token = $6 and h.lease is not distinct from $7 and h.expires_at is not distinct from $8
       returning h.token`,
      [database.now(), Math.ceil(ttlMs), id, encodeOwner(owner), root, found.token, found.lease, found.expires_at],
    )
    if (taken) return { run: root, token: taken.token, id, owner }
  }
}

export function nextToken(schema: string): string {
  return `nextval('${schema.replaceAll("'", "''")}.tokens')`
}

export async function renewLeases(
  database: Database,
  ...[leases, ttlMs]: Parameters<Store['renew']>
): ReturnType<Store['renew']> {
  const expiresAt = `${nowSql} + $2::int8`
  const renewed = await database.write<{ n: number; waiting: number }>(
    `with held as (
       select h.id, a.n from unnest($3::text[], $4::int8[], $5::text[]) with ordinality as a(run, token, lease, n)
       join ${database.schema}.heads h on h.run = a.run and h.token = a.token and h.lease = a.lease
       order by h.run for no key update of h)
     update ${database.schema}.heads h set expires_at = ${expiresAt}, ready_at = ${readySql({ ...unchanged, expiresAt })}
     from held where h.id = held.id returning held.n, h.waiting`,
    [
      database.now(),
      Math.ceil(ttlMs),
      binaryColumn('text', leases, ({ run }) => run),
      binaryColumn('int8', leases, ({ token }) => token),
      binaryColumn('text', leases, ({ id }) => id),
    ],
  )
  const waiting = new Map(renewed.map((row) => [row.n, row.waiting]))
  return leases.flatMap((lease, index) => {
    const messages = waiting.get(index + 1)
    return messages === undefined ? [] : [{ lease, waiting: messages }]
  })
}

/**
 * Returns how many messages wait for the tree; undefined if the lease was no longer held. Notifies even if the run
 * isn't ready: another run of its crew may wait for `crewLimit`.
 */
export async function releaseLease(database: Database, lease: Lease): Promise<number | undefined> {
  const { run, token, id } = lease
  const [released] = await database.write<{ waiting: number }>(
    `with freed as (update ${database.schema}.heads h set ${freed}
       where h.run = $2 and h.token = $3 and h.lease = $4 returning h.waiting)
     select waiting, ${notifySql(database, '$5::text')} from freed`,
    [database.now(), run, token, id, noticeText(run)],
  )
  if (released === undefined) await undoDeath(database, lease)
  return released?.waiting
}

/** Corrects a counted death: the holder was only paused. */
async function undoDeath(database: Database, { run, token }: Lease): Promise<void> {
  await database.write(
    `update ${database.schema}.heads set deaths = deaths - 1, death_token = 0 where run = $1 and death_token = $2 and deaths > 0`,
    [run, token],
  )
}

export async function findLease(database: Database, run: RunId): Promise<RootLease | undefined> {
  const root = await findRoot(database, rootRunId(run))
  return root && { ...root, holding: toHolding(root) }
}

/** Selects the tree of root `$1`, and run `$2`. A union, since for an `or` the planner would scan all heads. */
export function treeSql(schema: string): string {
  return `select h.id, h.run, h.inbox from ${schema}.heads h
    where h.id in (select id from ${schema}.heads where run = $2
      union all select l.id from ${schema}.listing l where l.root = $1)`
}

/** Returns the deleted runs: the run and its child runs. */
export function deleteRun(database: Database, run: RunId): Promise<RunId[]> {
  const { schema } = database
  return database.transaction(async ({ query }) => {
    const [root] = await query<RootRecord>(
      `select ${rootColumns} from ${schema}.heads r where r.run = $2 for no key update`,
      [database.now(), rootRunId(run)],
    )
    checkFree(run, toHolding(root), root?.now ?? 0)
    const tree = await query<{ id: number; run: string; inbox: number }>(treeSql(schema), [rootRunId(run), run])
    const gone = tree.filter((each) => isInTreeOf(each.run, run))
    // the root's `ready_at` must not change
    if (gone.length === 0) return []
    const ids = binaryColumn('int8', gone, ({ id }) => id)
    for (const table of ['entries', 'blobs', 'outputs', 'messages'])
      await query(`delete from ${schema}.${table} where run_id = any($1::int8[])`, [ids])
    for (const table of ['listing', 'heads'])
      await query(`delete from ${schema}.${table} where id = any($1::int8[])`, [ids])
    const messages = gone.reduce((sum, { inbox }) => sum + inbox, 0)
    const waiting = 'h.waiting - $3::int'
    await query(
      `update ${schema}.heads h set waiting = ${waiting},
         ready_at = ${readySql({ ...unchanged, waiting, expiresAt: 'h.expires_at' })}
       where h.run = $2`,
      [database.now(), rootRunId(run), messages],
    )
    return gone.map((each) => each.run)
  })
}

export interface RootRecord {
  readonly id: number
  readonly token: number
  readonly lease: string | null
  readonly owner: string | null
  readonly expires_at: number | null
  readonly tries: number
  readonly deaths: number
  /** The store's clock at the time of the read. */
  readonly now: number
  readonly [column: string]: unknown
}

export const rootColumns: string = `r.id, r.token, r.lease, r.owner, r.expires_at, r.tries, r.deaths, ${nowSql} as now`

export async function findRoot(database: Database, root: RunId): Promise<RootRecord | undefined> {
  const [found] = await database.read<RootRecord>(
    `select ${rootColumns} from ${database.schema}.heads r where r.run = $2`,
    [database.now(), root],
  )
  return found
}
