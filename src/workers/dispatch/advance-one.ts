// One run that somebody asks this process to advance. It is claimed as by any worker, if it is ready, so that the
// limits of crews hold and a run that kills its processes is left alone after a while, whoever asks for it.
import { recordedOutcome, type AdvanceOutcome } from '../../crew/advance/advance.ts'
import { defined } from '../../base/defined.ts'
import type { TimedLease } from '../../engine/lease/lease-keeper.ts'
import { readRun } from '../../engine/read/read-run.ts'
import { RepriseError } from '../../base/errors.ts'
import { rootRunId } from '../../journal/paths.ts'
import type { ClaimLimits, Lane, RunId } from '../../stores/store.ts'
import { crewOf, type ServedCrew, type ServedStore } from '../served.ts'

/** A run of one of the stores that a process serves. */
export interface LocatedRun {
  readonly served: ServedStore
  /** The one at the top. */
  readonly run: RunId
  readonly lane: Lane
  readonly crew: ServedCrew
}

/** The run at the top, of what works for it; `other` where its crew isn't here. RUN_NOT_FOUND. */
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
  const places = stores.map(({ store }) => store.url).join(' and ')
  throw new RepriseError('RUN_NOT_FOUND', `there is no run ${run} in ${places}`, { runId: run })
}

/** Undefined when it isn't ready, or its crew has as many runs as it may. `has`: what is in progress here. */
export async function claimOne(
  { served, run, crew }: LocatedRun,
  inProgress: ReadonlySet<RunId>,
): Promise<TimedLease | undefined> {
  const limits: ClaimLimits = { limit: 1, runId: run, exclude: inProgress, ...defined({ crewLimit: crew.maxRuns }) }
  const [lease] = await served.claim(crew.lanes, limits)
  return lease
}

/** What isn't given now is asked for again after this time. */
const laterMs = 1_000

/** What the journal says of a run that was not given. */
export async function notReadyOutcome({ served, run }: LocatedRun, now: number): Promise<AdvanceOutcome> {
  const outcome = recordedOutcome((await readRun(served.store, run)).state, now)
  // somebody has it, its crew has as many runs as it may, or it was tried in vain just now
  return outcome.status === 'more' ? { status: 'held', until: now + laterMs } : outcome
}

/** Whether it is the limit of its crew that keeps back a run which wants somebody. */
export async function isAtCrewLimit({ served: { store }, run, crew }: LocatedRun): Promise<boolean> {
  if (crew.maxRuns === undefined || (await store.holder(run))) return false
  // one that was tried twice in vain, or whose holder died, is kept back for its own good
  const { tries, deaths } = await store.tries(run)
  return tries < 2 && deaths === 0
}
