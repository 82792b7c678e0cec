// Claiming: what is ready in a lane is one range of an index, searched and leased under the database's write lock.
import { isOwnerDead, readOwner } from '../owner.ts'
import { highestFirst, isSameLane } from '../rules/claim-order.ts'
import { afterDeath } from '../rules/ready.ts'
import { laneCrews, claimableCount } from '../rules/claim-limits.ts'
import type { Lane, Lease, Owner, Priority, ReadyRun, ClaimLimits, RunId } from '../store.ts'
import type { Connection } from './connection.ts'
import { noLease, grantLease } from './leases.ts'
import { changeRoot, rootColumns, type RootRecord } from './roots.ts'

export function claimRuns(
  connection: Connection,
  owner: Owner,
  ttlMs: number,
  lanes: readonly Lane[],
  room: ClaimLimits,
): Promise<Lease[]> {
  return connection.write(() => {
    freeDeadLeases(connection)
    const { exclude: has = new Set() } = room
    const places = claimableCount(room, () => countHeld(connection, lanes, room))
    let suspects: number | undefined
    const isGiven = ({ run, deaths }: ReadyRoot): boolean => {
      if (has.has(run)) return false
      if (deaths === 0) return true
      suspects ??= holdsSuspect(connection, owner) ? 1 : 0
      return suspects++ === 0
    }
    const ready =
      room.runId === undefined
        ? readyRoots(connection, lanes, places, { most: places + has.size, isGiven })
        : places > 0
          ? readyRoot(connection, lanes, room.runId).filter(isGiven)
          : []
    return ready.map((root) => grantLease(connection, root, owner, ttlMs, root.tries + 1))
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

interface Selection {
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
  { most, isGiven }: Selection = { most: limit, isGiven: () => true },
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

export async function listReady(connection: Connection, lanes: readonly Lane[], limit: number): Promise<ReadyRun[]> {
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
  { exclude: has = new Set(), crewLimit: most = Infinity }: ClaimLimits,
): number {
  const crews = laneCrews(lanes)
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
function freeDeadLeases(connection: Connection): void {
  const { sql } = connection
  let last = ''
  for (;;) {
    const next = sql(selectNextOwner).get(last) as { owner: string } | undefined
    if (next === undefined) return
    last = next.owner
    const owner = readOwner(last)
    if (owner !== undefined && !isOwnerDead(owner)) continue
    for (const root of sql(selectHeldBy).all(last) as unknown as RootRecord[])
      changeRoot(connection, root, { ...noLease, ...afterDeath(root) })
  }
}

function holdsSuspect({ sql, now }: Connection, owner: Owner): boolean {
  return sql(selectHeldSuspects).get(JSON.stringify(owner), now()) !== undefined
}
