// Claims ready runs, under the write lock. The ready runs of a lane are one range of an index per priority; those with
// deaths (suspects) are also in an index of their own.
import { isOwnerDead, readOwner } from '../owner.ts'
import { highestFirst, isSameLane, laneCrews, claimableCount, toReadyRun, wholeLimit } from '../rules/leases.ts'
import { afterDeath } from '../rules/ready.ts'
import type { Lane, Owner, Priority, ReadyRun, ClaimLimits, RunId, Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { noLease, grantLease } from './leases.ts'
import { changeRoot, deathColumns, rootColumns, type RootRecord } from './roots.ts'

export function claimRuns(
  connection: Connection,
  ...[owner, ttlMs, lanes, limits]: Parameters<Store['claim']>
): ReturnType<Store['claim']> {
  return connection.write(() => {
    freeDeadLeases(connection)
    const { exclude = new Set(), runId } = limits
    const count = claimableCount(limits, () => countHeld(connection, lanes, limits))
    let suspects: number | undefined
    const isClaimable = ({ run, deaths }: ReadyRoot): boolean => {
      if (exclude.has(run)) return false
      if (deaths === 0) return true
      suspects ??= holdsSuspect(connection, owner) ? 1 : 0
      return suspects++ === 0
    }
    const ready =
      runId === undefined
        ? readyRoots(connection, lanes, count, { maxRows: count + exclude.size, isClaimable })
        : count > 0
          ? readyRoot(connection, lanes, runId).filter(isClaimable)
          : []
    return ready.map((root) => grantLease(connection, root, owner, ttlMs, root.tries + 1))
  })
}

type ReadyRoot = RootRecord & Lane & { readonly priority: Priority; readonly ready_at: number }

const readyRootColumns = `${rootColumns}, crew, version, format, priority, ready_at`
const inLane = 'crew = ? and version = ? and format = ? and priority = ? and ready_at <= ?'
export const selectReady: string = `select ${readyRootColumns} from runs
  where ${inLane} and deaths = 0 order by ready_at limit ?`
/**
 * Reads suspects, which are runs with deaths, by themselves: a claim takes at most one, and in one query with the
 * others they could use up the row limit.
 */
export const selectSuspects: string = `select ${readyRootColumns} from runs
  where ${inLane} and deaths > 0 order by ready_at limit ?`
export const selectHeldSuspects: string = 'select 1 from runs where owner = ? and deaths > 0 and expires_at > ? limit 1'
export const selectOnly: string = `select ${readyRootColumns} from runs where run = ? and ready_at <= ?`

interface Selection {
  /** Rows read for each lane: more than the limit if some are skipped. */
  readonly maxRows: number
  /** Called in claim order. */
  isClaimable(root: ReadyRoot): boolean
}

/** Finds each ready root once, in claim order. */
function readyRoots(
  { sql, now }: Connection,
  lanes: readonly Lane[],
  limit: number,
  { maxRows, isClaimable }: Selection = { maxRows: limit, isClaimable: () => true },
): ReadyRoot[] {
  const ready: ReadyRoot[] = []
  const time = now()
  const rowLimit = wholeLimit(maxRows)
  for (const priority of highestFirst) {
    if (ready.length >= limit) break
    const found = [selectReady, selectSuspects].flatMap((select) =>
      lanes.flatMap(
        ({ crew, version, format }) =>
          sql(select).all(crew, version, format, priority, time, rowLimit) as unknown as ReadyRoot[],
      ),
    )
    const inOrder = found.toSorted((a, b) => a.ready_at - b.ready_at)
    for (const root of new Map(inOrder.map((each) => [each.id, each])).values())
      if (ready.length < limit && isClaimable(root)) ready.push(root)
  }
  return ready
}

/** Finds this root if it is ready. */
function readyRoot({ sql, now }: Connection, lanes: readonly Lane[], run: RunId): ReadyRoot[] {
  const found = sql(selectOnly).all(run, now()) as unknown as ReadyRoot[]
  return found.filter((root) => lanes.some((lane) => isSameLane(lane, root)))
}

export async function listReady(connection: Connection, lanes: readonly Lane[], limit: number): Promise<ReadyRun[]> {
  const roots = await connection.read(() => readyRoots(connection, lanes, limit))
  return roots.map(toReadyRun)
}

export const selectHeld = 'select run from runs where crew = ? and owner is not null and expires_at > ? limit ?'

/** Counts the held runs of these lanes' crews, up to the crew limit. */
function countHeld(
  { sql, now }: Connection,
  lanes: readonly Lane[],
  { exclude = new Set(), crewLimit = Infinity }: ClaimLimits,
): number {
  const crews = laneCrews(lanes)
  const limit = wholeLimit(crewLimit)
  const live = new Set(
    [...crews].flatMap((crew) =>
      sql(selectHeld)
        .all(crew, now(), limit)
        .map(({ run }) => run),
    ),
  )
  if (live.size >= limit) return live.size
  const findCrew = (run: RunId): unknown => sql('select crew from runs where run = ?').get(run)?.['crew']
  const expired = [...exclude].filter((run) => !live.has(run) && crews.has(String(findCrew(run))))
  return live.size + expired.length
}

/** Skips from one owner to the next: there may be many held runs, but they have few owners. */
export const selectNextOwner = 'select owner from runs where owner > ? order by owner limit 1'
export const selectHeldBy: string = `select ${rootColumns} from runs where owner = ?`

/** Frees leases of provably dead processes, and leases with an unreadable owner. */
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
      changeRoot(connection, root, { ...noLease, ...deathColumns(afterDeath(root)) })
  }
}

function holdsSuspect({ sql, now }: Connection, owner: Owner): boolean {
  return sql(selectHeldSuspects).get(JSON.stringify(owner), now()) !== undefined
}
