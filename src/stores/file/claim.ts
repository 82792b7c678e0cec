// Claims ready runs, under the lock. The table of roots lists the candidates; before a run is leased, its files must
// confirm that it is ready. First of all, the table is refreshed for journals that a person put into the folder, and
// for roots whose last change may be missing from it.
import { rootRunId } from '../../journal/paths.ts'
import { isOwnerDead } from '../owner.ts'
import { laneCrews, claimableCount, highestFirst, isSameLane } from '../rules/leases.ts'
import { afterDeath } from '../rules/ready.ts'
import type { Lane, Lease, Priority, ReadyRun, RunId, Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { grantLease } from './leases.ts'
import { refreshRoot } from './readiness.ts'
import { anyDeaths, type Roots, type StoredRoot } from './roots.ts'
import type { RunFiles } from './run-files.ts'

export function claimRuns(
  { files, locked, now }: Connection,
  ...[owner, ttlMs, lanes, limits]: Parameters<Store['claim']>
): ReturnType<Store['claim']> {
  return locked(async (roots) => {
    const trees = await refreshUnsure(files, roots)
    freeDeadLeases(roots)
    const { exclude = new Set(), runId } = limits
    const count = claimableCount(limits, () => roots.countHeld(laneCrews(lanes), exclude))
    /** An owner gets one suspect, and none while it holds another. */
    let maxDeaths = roots.holdsSuspect(owner) ? 0 : anyDeaths
    const claimed: Lease[] = []
    /** Claims the run if its files confirm that it is due. Otherwise its row was wrong, and has now been refreshed. */
    async function claimIfDue(run: RunId, priority?: Priority): Promise<void> {
      const root = await refreshRoot(files, roots, run, trees.get(run))
      const hasOtherPriority = priority !== undefined && root.priority !== priority
      if (hasOtherPriority || !isDue(root, lanes, now())) return
      if (root.deaths > 0) maxDeaths = 0
      claimed.push(grantLease(roots, run, owner, now() + ttlMs, root.tries + 1))
    }

    if (runId !== undefined) {
      const isClaimable = count > 0 && !exclude.has(runId) && roots.get(runId).deaths <= maxDeaths
      if (isClaimable && roots.isReady(lanes, runId)) await claimIfDue(runId)
      return claimed
    }
    for (const priority of highestFirst) {
      while (claimed.length < count) {
        const run = roots.firstReady(lanes, priority, exclude, maxDeaths)
        if (run === undefined) break
        await claimIfDue(run, priority)
      }
    }
    return claimed
  })
}

/** Refreshes unknown and unsure roots. Returns the runs of each tree in the folder, by root. */
async function refreshUnsure(files: RunFiles, roots: Roots): Promise<ReadonlyMap<RunId, readonly RunId[]>> {
  const trees = Map.groupBy(await files.ids(), rootRunId)
  const known = roots.knownRuns()
  const unknown = [...trees.keys()].filter((run) => !known.has(run))
  for (const run of new Set([...unknown, ...roots.unsureRuns()])) await refreshRoot(files, roots, run, trees.get(run))
  return trees
}

function freeDeadLeases(roots: Roots): void {
  for (const run of roots.heldByDead(isOwnerDead)) {
    const root = roots.get(run)
    roots.put(run, { ...root, ...afterDeath(root), holding: undefined })
  }
}

/** Whether a refreshed root is due in one of the lanes. The table has checked the pause and the lease already. */
function isDue({ lane, ended, waiting, dueAt = Infinity }: StoredRoot, lanes: readonly Lane[], now: number): boolean {
  return lane !== undefined && !ended && (waiting > 0 || dueAt <= now) && lanes.some((each) => isSameLane(each, lane))
}

export function listReady({ readRoots }: Connection, lanes: readonly Lane[], limit: number): Promise<ReadyRun[]> {
  return readRoots((roots) => roots.listReady(lanes, limit))
}
