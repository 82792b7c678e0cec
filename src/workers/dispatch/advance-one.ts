// Advances one run on request. The run is claimed as by any worker, so that crew limits hold and a run that crashes its
// processes is eventually given up.
import { recordedOutcome, type AdvanceOutcome } from '../../crew/verbs/advance.ts'
import type { TimedLease } from '../../engine/lease/lease-keeper.ts'
import { readRun } from '../../engine/read/read-run.ts'
import { RepriseError } from '../../base/errors.ts'
import { rootRunId } from '../../journal/paths.ts'
import type { ClaimLimits, Lane, RunId } from '../../stores/store.ts'
import { crewOf, type ServedCrew, type ServedStore } from '../served.ts'
import { defined } from '../../base/defined.ts'

/** A run of one of the stores that a process serves. */
export interface LocatedRun {
  readonly served: ServedStore
  /** The root run. */
  readonly run: RunId
  readonly lane: Lane
  readonly crew: ServedCrew
}

/** Finds the root of a run; `other` if this process does not serve its crew. RUN_NOT_FOUND. */
export async function locateRun(
  stores: readonly ServedStore[],
  runId: string,
): Promise<LocatedRun | Extract<AdvanceOutcome, { status: 'other' }>> {
  const run = rootRunId(runId)
  let other: Extract<AdvanceOutcome, { status: 'other' }> | undefined
  for (const served of stores) {
    const row = await served.store.row(run)
    const crew = row && crewOf(served, row)
    if (crew) return { served, run, crew, lane: { crew: row.crew, version: row.version, format: row.format } }
    other ??= row && { status: 'other', crew: row.crew, version: row.version }
  }
  if (other) return other
  const urls = stores.map(({ store }) => store.url).join(' and ')
  throw new RepriseError('RUN_NOT_FOUND', `there is no run ${run} in ${urls}`, { runId: run })
}

/** Undefined if the run isn't ready, or its crew is at its limit. */
export async function claimOne(
  { served, run, crew }: LocatedRun,
  inProgress: ReadonlySet<RunId>,
): Promise<TimedLease | undefined> {
  const limits: ClaimLimits = { limit: 1, runId: run, exclude: inProgress, ...defined({ crewLimit: crew.maxRuns }) }
  const [lease] = await served.claim(crew.lanes, limits)
  return lease
}

/** When to ask again for a run that was not given. */
const retryMs = 1_000

/** The outcome of a run that could not be claimed, from its journal. */
export async function notReadyOutcome({ served, run }: LocatedRun, now: number): Promise<AdvanceOutcome> {
  const outcome = recordedOutcome((await readRun(served.store, run)).state, now)
  // held by another process, at the limit of its crew, or pausing after a failed try
  return outcome.status === 'more' ? { status: 'held', until: now + retryMs } : outcome
}

/** Whether a ready run waits only for the limit of its crew. */
export async function isAtCrewLimit({ served: { store }, run, crew }: LocatedRun): Promise<boolean> {
  if (crew.maxRuns === undefined || (await store.holder(run))) return false
  // after two failed tries or a death, the run pauses for its own reasons
  const { tries, deaths } = await store.tries(run)
  return tries < 2 && deaths === 0
}
