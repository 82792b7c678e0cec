// Claims ready runs. The ready runs of a lane are one range of an index. Runs that another claim has locked are
// skipped, so that no two claims get the same run and none waits for another.
import { deadOwners, localOwnerRange, encodeOwner } from '../owner.ts'
import { laneCrews, claimableCount, toReadyRun, wholeLimit } from '../rules/leases.ts'
import type { Lane, Lease, ReadyRun, Store } from '../store.ts'
import { binaryArray, binaryColumn } from './columns.ts'
import type { Statements } from './connection.ts'
import { nowSql, type Database, deathSql, readySql } from './database.ts'
import { freed, nextToken, unchanged } from './leases.ts'

const readyLimit = 10_000

export async function claimRuns(
  database: Database,
  ...[owner, ttlMs, lanes, limits]: Parameters<Store['claim']>
): ReturnType<Store['claim']> {
  const { limit, exclude = new Set(), crewLimit, runId } = limits
  await freeDeadLeases(database)
  const crews = [...laneCrews(lanes)].toSorted()
  const claim = async (query: Statements['query'], places: number): Promise<Lease[]> => {
    const text = claimSql(database.schema, runId === undefined ? 'any' : 'only')
    const claimed = await query<{ run: string; token: number; lease: string }>(text, [
      database.now(),
      Math.ceil(ttlMs),
      encodeOwner(owner),
      ...laneArrays(lanes),
      binaryArray('text', [...exclude]),
      wholeLimit(places, readyLimit),
      ...(runId === undefined ? [] : [runId]),
    ])
    return claimed.map(({ run, token, lease }) => ({ run, token, id: lease, owner }))
  }
  if (crewLimit === undefined) return claim(database.write, limit)
  // claims with a crew limit are serialized per crew, so that each counts what earlier ones have claimed
  return database.transaction(async ({ query }) => {
    for (const crew of crews)
      await query('select pg_advisory_xact_lock(hashtext($1), hashtext($2))', [`${database.channel} claim`, crew])
    const [held] = await query<{ count: number }>(
      `select count(*) from (
         select 1 from ${database.schema}.heads where crew = any($2::text[])
           and ((owner is not null and expires_at > ${nowSql}) or run = any($3::text[])) limit $4) held`,
      [database.now(), binaryArray('text', crews), binaryArray('text', [...exclude]), wholeLimit(crewLimit)],
    )
    const places = claimableCount(limits, () => held?.count ?? 0)
    return claim(query, places)
  })
}

/** Returns the SQL of a claim. With `only`, it claims just the run `$9`. */
export function claimSql(schema: string, which: 'any' | 'only'): string {
  const lanes = lanesSql('$4', '$5', '$6')
  const isNotExcluded = 'h.run <> all ($7::text[])'
  // at most one suspect, and none if the owner holds one; a separate query, since many suspects would hide other runs
  const isHarmless = `h.deaths = 0 and ${isNotExcluded}`
  const isSuspect = `h.deaths > 0 and ${isNotExcluded}`
  const mayClaimSuspect = `not exists (select from ${schema}.heads held where held.owner = $3 and held.deaths > 0 and held.expires_at > ${nowSql})`
  const any = `select * from (
      (${selectReadySql(schema, lanes, '$8', `and ${isHarmless}`, 'for no key update skip locked')})
      union all
      (${selectReadySql(schema, lanes, 'least($8, 1)', `and ${isSuspect} and ${mayClaimSuspect}`, 'for no key update skip locked')})) r
    order by r.priority desc, r.ready_at limit $8`
  // waits for the lock: a run that is skipped because it is locked would seem not to be ready
  const only = `select h.id, h.priority, h.ready_at from ${schema}.heads h
      where h.run = $9 and h.ready_at <= ${nowSql} and ${isNotExcluded} and (h.deaths = 0 or ${mayClaimSuspect})
        and exists (select from ${lanes} where h.crew = l.crew and h.version = l.version and h.format = l.format::int)
      limit $8 for no key update`
  const expiresAt = `${nowSql} + $2::int8`
  const tries = 'h.tries + 1'
  return `with ready as (
      ${which === 'any' ? any : only}),
    claimed as (
      update ${schema}.heads h set token = ${nextToken(schema)}, lease = gen_random_uuid()::text, owner = $3,
        ${deathSql('h.owner is not null and h.owner <> $3')},
        tries = ${tries}, expires_at = ${expiresAt}, ready_at = ${readySql({ ...unchanged, tries, expiresAt })}
      from ready where h.id = ready.id returning h.run, h.token, h.lease, ready.priority, ready.ready_at)
    select run, token, lease from claimed order by priority desc, ready_at`
}

/** One index search for each lane and priority. `more`: a further condition on each head. */
function selectReadySql(schema: string, lanes: string, limit: string, more = '', lock = ''): string {
  return `select r.* from ${lanes} cross join (values (1), (0), (-1)) as p(priority)
      cross join lateral (
        select h.id, h.run, h.crew, h.version, h.format, h.priority, h.ready_at from ${schema}.heads h
        where h.crew = l.crew and h.version = l.version and h.format = l.format::int and h.priority = p.priority::smallint
          and h.ready_at <= ${nowSql} ${more}
        order by h.ready_at limit ${limit} ${lock}) r
      order by r.priority desc, r.ready_at limit ${limit}`
}

export function readyRunsSql(schema: string): string {
  return selectReadySql(schema, lanesSql('$2', '$3', '$4'), '$5')
}

export async function listReady(
  { schema, read, now }: Database,
  ...[lanes, limit]: Parameters<Store['ready']>
): ReturnType<Store['ready']> {
  const found = await read<Omit<ReadyRun, 'readyAt'> & { ready_at: number }>(readyRunsSql(schema), [
    now(),
    ...laneArrays(lanes),
    wholeLimit(limit, readyLimit),
  ])
  return found.map(toReadyRun)
}

function laneArrays(lanes: readonly Lane[]): Buffer[] {
  return [
    binaryColumn('text', lanes, ({ crew }) => crew),
    binaryColumn('text', lanes, ({ version }) => version),
    binaryColumn('int8', lanes, ({ format }) => format),
  ]
}

/** The distinct lanes. */
function lanesSql(crews: string, versions: string, formats: string): string {
  const arrays = `unnest(${crews}::text[], ${versions}::text[], ${formats}::int8[]) as lanes(crew, version, format)`
  return `(select distinct * from ${arrays}) l`
}

/** Frees the leases of processes of this machine that provably no longer run. */
async function freeDeadLeases(database: Database): Promise<void> {
  const range = localOwnerRange()
  if (range === undefined) return
  const owners = await database.read<{ owner: string }>(ownersSql(database.schema), range)
  const gone = deadOwners(owners.map(({ owner }) => owner))
  if (gone.length === 0) return
  await database.write(
    `with gone as (select id from ${database.schema}.heads where owner = any($2::text[]) order by run for no key update)
     update ${database.schema}.heads h set ${deathSql('true')}, ${freed} from gone where h.id = gone.id`,
    [database.now(), binaryArray('text', gone)],
  )
}

/** Skips from owner to owner by the index: few processes hold many runs. */
function ownersSql(schema: string): string {
  const next = (from: string): string =>
    `select owner from ${schema}.heads where owner > ${from} and owner < $2 order by owner limit 1`
  return `with recursive owners as (
      (${next('$1')}) union all select (${next('owners.owner')}) from owners where owners.owner is not null)
    select owner from owners where owner is not null`
}
