// Who may write to a run. Everything here runs under the database's write lock, so two processes never see the same
// free run.
import { randomUUID } from 'node:crypto'
import { rootRun, worksFor } from '../../journal/paths.ts'
import { isGone, readOwner, sameOwner } from '../owner.ts'
import { highestFirst, isSameLane } from '../rules/claim-order.ts'
import { afterDeath, afterReturn, recordsMessages } from '../rules/ready.ts'
import { checkFree, isLive, runNotFound } from '../rules/refusals.ts'
import { crewsOf, placesIn } from '../rules/room.ts'
import type { Lane, Lease, Owner, Priority, ReadyRun, Renewed, Room, RunId, RunStatus, Tries } from '../store.ts'
import type { Connection } from './connection.ts'
import { waitingIds } from './sqlite-inbox.ts'
import { findRun } from './records.ts'
import { changeRoot, findRoot, holdingOf, rootColumns, type RootRecord } from './roots.ts'

const noLease = { owner: null, expires_at: null, lease: null } as const

export function acquireLease(connection: Connection, run: RunId, owner: Owner, ttlMs: number): Promise<Lease> {
  return connection.write(() => {
    if (findRun(connection, run) === undefined) throw runNotFound(run, connection.url)
    return acquireRoot(connection, run, owner, ttlMs)
  })
}

/** Within a write. RUN_HELD, and RUN_NOT_FOUND for a run whose root is not there. */
export function acquireRoot(connection: Connection, run: RunId, owner: Owner, ttlMs: number): Lease {
  const root = findRoot(connection, run)
  if (root === undefined) throw runNotFound(rootRun(run), connection.url)
  checkFree(run, holdingOf(root), connection.now(), owner)
  return take(connection, root, owner, ttlMs, Math.max(1, root.tries))
}

export function claimRuns(
  connection: Connection,
  owner: Owner,
  ttlMs: number,
  lanes: readonly Lane[],
  room: Room,
): Promise<Lease[]> {
  return connection.write(() => {
    freeGone(connection)
    const { has = new Set() } = room
    const places = placesIn(room, () => countHeld(connection, lanes, room))
    let suspects: number | undefined
    const isGiven = ({ run, deaths }: ReadyRoot): boolean => {
      if (has.has(run)) return false
      if (deaths === 0) return true
      suspects ??= holdsSuspect(connection, owner) ? 1 : 0
      return suspects++ === 0
    }
    const ready =
      room.only === undefined
        ? readyRoots(connection, lanes, places, { most: places + has.size, isGiven })
        : places > 0
          ? readyRoot(connection, lanes, room.only).filter(isGiven)
          : []
    return ready.map((root) => take(connection, root, owner, ttlMs, root.tries + 1))
  })
}

type ReadyRoot = RootRecord & Lane & { readonly priority: Priority; readonly ready_at: number }

const readyRootColumns = `${rootColumns}, crew, version, format, priority, ready_at`
const inLane = 'crew = ? and version = ? and format = ? and priority = ? and ready_at <= ?'
export const selectReady: string = `select ${readyRootColumns} from runs
  where ${inLane} and deaths = 0 order by ready_at limit ?`
/** Apart, since a claim gives only one of them: many would hide what others have. */
export const selectSuspects: string = `select ${readyRootColumns} from runs
  where ${inLane} and deaths > 0 order by ready_at limit ?`
export const selectHeldSuspects: string = 'select 1 from runs where owner = ? and deaths > 0 and expires_at > ? limit 1'
export const selectOnly: string = `select ${readyRootColumns} from runs where run = ? and ready_at <= ?`

interface Among {
  /** How many are looked at of each lane: more than the limit, where not all are given. */
  readonly most: number
  /** Asked in the order in which they are claimed. */
  isGiven(root: ReadyRoot): boolean
}

/** Each once, in the order in which they are claimed. */
function readyRoots(
  { sql, now }: Connection,
  lanes: readonly Lane[],
  limit: number,
  { most, isGiven }: Among = { most: limit, isGiven: () => true },
): ReadyRoot[] {
  const ready: ReadyRoot[] = []
  const time = now()
  const enough = Math.min(Math.ceil(Math.max(most, 0)), Number.MAX_SAFE_INTEGER)
  for (const priority of highestFirst) {
    if (ready.length >= limit) break
    const found = [selectReady, selectSuspects].flatMap((select) =>
      lanes.flatMap(
        ({ crew, version, format }) =>
          sql(select).all(crew, version, format, priority, time, enough) as unknown as ReadyRoot[],
      ),
    )
    const inOrder = found.toSorted((a, b) => a.ready_at - b.ready_at)
    for (const root of new Map(inOrder.map((each) => [each.id, each])).values())
      if (ready.length < limit && isGiven(root)) ready.push(root)
  }
  return ready
}

/** The one that is asked for, if it is ready. */
function readyRoot({ sql, now }: Connection, lanes: readonly Lane[], only: RunId): ReadyRoot[] {
  const found = sql(selectOnly).all(only, now()) as unknown as ReadyRoot[]
  return found.filter((root) => lanes.some((lane) => isSameLane(lane, root)))
}

export async function findReady(connection: Connection, lanes: readonly Lane[], limit: number): Promise<ReadyRun[]> {
  const roots = await connection.read(() => readyRoots(connection, lanes, limit))
  return roots.map(({ run, crew, version, format, priority, ready_at }) => ({
    run,
    crew,
    version,
    format,
    priority,
    readyAt: ready_at,
  }))
}

export const selectHeld = 'select run from runs where crew = ? and owner is not null and expires_at > ? limit ?'

/** Of the crews of these lanes, as far as it matters. */
function countHeld(
  { sql, now }: Connection,
  lanes: readonly Lane[],
  { has = new Set(), most = Infinity }: Room,
): number {
  const crews = crewsOf(lanes)
  const enough = Math.min(Math.ceil(Math.max(most, 0)), Number.MAX_SAFE_INTEGER)
  const live = new Set(
    [...crews].flatMap((crew) =>
      sql(selectHeld)
        .all(crew, now(), enough)
        .map(({ run }) => run),
    ),
  )
  if (live.size >= enough) return live.size
  const crewOf = (run: RunId): unknown => sql('select crew from runs where run = ?').get(run)?.['crew']
  const late = [...has].filter((run) => !live.has(run) && crews.has(String(crewOf(run))))
  return live.size + late.length
}

/** Skips from one owner to the next: few processes hold many runs. */
export const selectNextOwner = 'select owner from runs where owner > ? order by owner limit 1'
export const selectHeldBy: string = `select ${rootColumns} from runs where owner = ?`

/** Takes the leases of processes that are provably gone, and those that nobody can read. */
function freeGone(connection: Connection): void {
  const { sql } = connection
  let last = ''
  for (;;) {
    const next = sql(selectNextOwner).get(last) as { owner: string } | undefined
    if (next === undefined) return
    last = next.owner
    const owner = readOwner(last)
    if (owner !== undefined && !isGone(owner)) continue
    for (const root of sql(selectHeldBy).all(last) as unknown as RootRecord[])
      changeRoot(connection, root, { ...noLease, ...afterDeath(root) })
  }
}

export function renewLeases(connection: Connection, leases: readonly Lease[], ttlMs: number): Promise<Renewed[]> {
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

/** How many messages wait for the unit; undefined when there was nothing to give back. */
export function releaseLease(connection: Connection, lease: Lease): Promise<number | undefined> {
  return connection.write(() => {
    const root = stillHeld(connection, lease)
    if (root === undefined) {
      takeBackDeath(connection, lease)
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

function takeBackDeath(connection: Connection, { run, token }: Lease): void {
  const root = findRoot(connection, run)
  const { deaths } = root ? afterReturn(root, token) : {}
  if (root && deaths !== undefined)
    connection.sql('update runs set deaths = ?, died = 0 where id = ?').run(deaths, root.id)
}

export async function findTries(connection: Connection, run: RunId): Promise<Tries> {
  const root = await connection.read(() => findRoot(connection, run))
  return { tries: root?.tries ?? 0, deaths: root?.deaths ?? 0 }
}

function holdsSuspect({ sql, now }: Connection, owner: Owner): boolean {
  return sql(selectHeldSuspects).get(JSON.stringify(owner), now()) !== undefined
}

export async function findHolder(connection: Connection, run: RunId): Promise<Owner | undefined> {
  const root = await connection.read(() => findRoot(connection, run))
  const holding = root && holdingOf(root)
  return isLive(holding, connection.now()) ? holding?.owner : undefined
}

interface UnitRecord {
  readonly id: number
  readonly run: string
  readonly status: RunStatus
}

/** Those that were deleted: the run, and the runs that worked for it. */
export function deleteRun(connection: Connection, run: RunId): Promise<RunId[]> {
  const { sql } = connection
  return connection.write(() => {
    const root = findRoot(connection, run)
    checkFree(run, root && holdingOf(root), connection.now())
    const ids = sql('select id, run, status from runs where root = ?').all(rootRun(run)) as unknown as UnitRecord[]
    const unit = ids.filter((each) => worksFor(each.run, run))
    const counted = unit.filter(({ status }) => recordsMessages(status))
    const left = counted.reduce((count, { id }) => count + waitingIds(connection, id).length, 0)
    for (const { id } of unit) sql('delete from runs where id = ?').run(id)
    if (root?.run === run) sql('update tokens set floor = max(floor, ?)').run(root.token)
    else if (root !== undefined && unit.length > 0) changeRoot(connection, root, { waiting: root.waiting - left })
    return unit.map((each) => each.run)
  })
}

function take(connection: Connection, root: RootRecord, owner: Owner, ttlMs: number, tries: number): Lease {
  const before = holdingOf(root)
  const died = before && !sameOwner(before.owner, owner) ? afterDeath(root) : {}
  const lease = { run: root.run, token: root.token + 1, id: randomUUID(), owner }
  const expires_at = connection.now() + ttlMs
  changeRoot(connection, root, {
    token: lease.token,
    owner: JSON.stringify(owner),
    expires_at,
    lease: lease.id,
    tries,
    ...died,
  })
  return lease
}
