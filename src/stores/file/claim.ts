// Claiming under the lock. The table finds what is ready; before a run is given away, its files are asked whether that
// is so. What the table cannot know is found out first: journals that people put there, and runs whose last change may
// not have reached it.
import { rootRunId } from '../../journal/paths.ts'
import { isOwnerDead } from '../owner.ts'
import { highestFirst, isSameLane } from '../rules/claim-order.ts'
import { afterDeath } from '../rules/ready.ts'
import { laneCrews, claimableCount } from '../rules/claim-limits.ts'
import type { Lane, Lease, Owner, Priority, ClaimLimits, RunId } from '../store.ts'
import { grantLease } from './leases.ts'
import { refreshRoot } from './readiness.ts'
import { anyDeaths, type Roots, type StoredRoot } from './roots.ts'
import type { RunFiles } from './run-files.ts'

export interface Claim {
  readonly owner: Owner
  readonly ttlMs: number
  readonly lanes: readonly Lane[]
  readonly room: ClaimLimits
}

export async function claimRoots(
  files: RunFiles,
  roots: Roots,
  { owner, ttlMs, lanes, room }: Claim,
  now: () => number,
): Promise<Lease[]> {
  const units = Map.groupBy(await files.ids(), rootRunId)
  const known = roots.knownRuns()
  const strangers = [...units.keys()].filter((run) => !known.has(run))
  for (const run of new Set([...strangers, ...roots.unsureRuns()])) await refreshRoot(files, roots, run, units.get(run))
  for (const run of roots.heldByDead(isOwnerDead)) {
    const root = roots.get(run)
    roots.put(run, { ...root, ...afterDeath(root), holding: undefined })
  }
  const { exclude: has = new Set() } = room
  const places = claimableCount(room, () => roots.countHeld(laneCrews(lanes), has))
  let deaths = roots.holdsSuspect(owner) ? 0 : anyDeaths
  const claimed: Lease[] = []
  /** By what its files say, which may be something else than the table: then the next search does not find it again. */
  async function takeIfWanted(run: RunId, priority?: Priority): Promise<void> {
    const root = await refreshRoot(files, roots, run, units.get(run))
    const isOther = priority !== undefined && root.priority !== priority
    if (isOther || !isDue(root, lanes, now())) return
    if (root.deaths > 0) deaths = 0
    claimed.push(grantLease(roots, run, owner, now() + ttlMs, root.tries + 1))
  }

  const { runId: only } = room
  if (only !== undefined) {
    const isGiven = places > 0 && !has.has(only) && roots.get(only).deaths <= deaths
    if (isGiven && roots.isReady(lanes, only)) await takeIfWanted(only)
    return claimed
  }
  for (const priority of highestFirst) {
    while (claimed.length < places) {
      const run = roots.firstReady(lanes, priority, has, deaths)
      if (run === undefined) break
      await takeIfWanted(run, priority)
    }
  }
  return claimed
}

/** Due by its files, in one of the lanes. Backoff and lease were seen to by the search. */
function isDue({ lane, ended, waiting, dueAt = Infinity }: StoredRoot, lanes: readonly Lane[], now: number): boolean {
  return lane !== undefined && !ended && (waiting > 0 || dueAt <= now) && lanes.some((each) => isSameLane(each, lane))
}
