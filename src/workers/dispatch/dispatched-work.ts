// What a process does for a dispatcher: advances each requested run as soon as there is room, if the run is ready. It
// claims runs as any worker does, so that crew limits hold and a run that crashes its processes is eventually given up.
import { type AdvanceOutcome, recordedOutcome } from '../../crew/verbs/advance.ts'
import type { Dispatcher, DispatchedOptions, DispatcherWork } from '../../crew/queue/dispatcher.ts'
import type { World } from '../../engine/definition.ts'
import { createNotifier, serially, seriallyByName, type SerialQueue, type SerialQueues } from '../../base/notifier.ts'
import type { RunId, Store, ClaimLimits, Lane } from '../../stores/store.ts'
import { advanceRun, type AdvanceWork, type Slice } from '../advance-run.ts'
import { type InProgress, type ServedStore, crewOf, type ServedCrew } from '../served.ts'
import type { TimedLease } from '../../engine/lease/leased-tree.ts'
import { readRun } from '../../read/read-run.ts'
import { RepriseError } from '../../base/errors.ts'
import { rootRunId } from '../../journal/paths.ts'
import { defined } from '../../base/options.ts'

interface ServeWork extends AdvanceWork {
  readonly progress: InProgress
  readonly clock: Pick<World, 'now' | 'monotonic' | 'sleep'>
  readonly concurrency: number
  /** Once it aborts, no more runs are claimed. */
  readonly stopping: AbortSignal
  /** Poll interval for a run whose crew is at its limit. Default: don't wait for the limit. */
  readonly pollMs?: number
}

type ClaimAttempt =
  | { readonly type: 'claimed'; readonly advancing: Promise<AdvanceOutcome> }
  | { readonly type: 'notReady'; readonly outcome: AdvanceOutcome }

export function dispatchedWork(
  { name: dispatcher }: Pick<Dispatcher, 'name'>,
  stores: readonly ServedStore[],
  work: ServeWork,
): DispatcherWork {
  const { progress, clock, report, concurrency, stopping, pollMs } = work
  const mine = new Map<Store, Set<RunId>>(stores.map(({ store }) => [store, new Set()]))
  /** A queue per store and crew, for crews with a limit. */
  const crewQueues = new Map<Store, SerialQueues>(stores.map(({ store }) => [store, seriallyByName()]))
  /**
   * One claim at a time per store, since a process may hold only one suspect: a run whose last holder died
   * (stores/rules/ready.ts).
   */
  const claims = new Map<Store, SerialQueue>(stores.map(({ store }) => [store, serially()]))
  const reserveRoom = roomQueue(progress, stopping)

  async function advance(runId: string, options: DispatchedOptions = {}): Promise<AdvanceOutcome> {
    const found = await locateRun(stores, runId)
    if ('status' in found) return found
    const { served, crew } = found
    const inCrewQueue = crewQueues.get(served.store) as SerialQueues
    const attempt =
      crew.maxRuns === undefined || pollMs === undefined
        ? await tryToClaim(found, options)
        : await inCrewQueue(crew.name, () => claimWithinLimit(found, options, pollMs))
    return attempt.type === 'claimed' ? attempt.advancing : attempt.outcome
  }

  async function tryToClaim(found: LocatedRun, { until, sliceSeconds, via }: DispatchedOptions): Promise<ClaimAttempt> {
    const { served, run, crew } = found
    const here = mine.get(served.store) as Set<RunId>
    using _ = await reserveRoom()
    if (stopping.aborted || until?.aborted) return { type: 'notReady', outcome: { status: 'more' } }
    const claim = claims.get(served.store) as SerialQueue
    const lease = await claim(async () => (here.has(run) ? undefined : claimOne(found, here)))
    if (!lease) return { type: 'notReady', outcome: await notReadyOutcome(found, clock.now().getTime()) }
    here.add(run)
    const startSlice = (): Slice => work.startSlice({ until, sliceSeconds })
    const call = via === undefined ? undefined : { dispatcher, id: via }
    const advancing = advanceRun(served, lease, crew, { ...work, startSlice }, call).finally(() => here.delete(run))
    const settled = (): void => undefined
    progress.begin({ run, crew }, advancing.then(settled, settled))
    return { type: 'claimed', advancing }
  }

  /** Claims the run once its crew is below its limit. Runs of a crew queue up for this, and only the first polls. */
  async function claimWithinLimit(
    found: LocatedRun,
    options: DispatchedOptions,
    pauseMs: number,
  ): Promise<ClaimAttempt> {
    for (;;) {
      const attempt = await tryToClaim(found, options)
      const isHeld = attempt.type === 'notReady' && attempt.outcome.status === 'held'
      if (!isHeld || !(await isAtCrewLimit(found))) return attempt
      await clock.sleep(pauseMs, stopping).catch(() => undefined)
    }
  }

  return {
    lanes: stores.flatMap(({ crews }) => crews.flatMap((crew) => crew.lanes)),
    concurrency,
    signal: stopping,
    advance,
    async cancel(runId, by) {
      const found = await locateRun(stores, runId)
      if (!('status' in found)) await found.crew.cancel(found.run, by)
    },
    tell: (message) => report({ type: 'dispatcher', dispatcher, message }),
  }
}

/**
 * Returns a function that waits until there is room for one more run and reserves it. Calls are served in order; once
 * the worker stops, none waits.
 */
function roomQueue(progress: InProgress, stopping: AbortSignal): () => Promise<Disposable> {
  const inOrder = serially()
  const freed = createNotifier()
  progress.onRoom(freed.notify)
  stopping.addEventListener('abort', freed.notify)
  const reserve = async (): Promise<Disposable> => {
    while (!stopping.aborted && progress.room() <= 0) {
      freed.consume()
      await freed.wait()
    }
    const reserved = progress.reserve(1)
    return {
      [Symbol.dispose]() {
        reserved[Symbol.dispose]()
        // the run was not ready: its room is free for the next
        if (progress.room() > 0) freed.notify()
      },
    }
  }
  return () => inOrder(reserve)
}

/** A run of one of the stores that a process serves. */
interface LocatedRun {
  readonly served: ServedStore
  /** The root run. */
  readonly run: RunId
  readonly lane: Lane
  readonly crew: ServedCrew
}

/** Finds the root of a run; `other` if this process does not serve its crew. Rejects with RUN_NOT_FOUND. */
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
async function claimOne(
  { served, run, crew }: LocatedRun,
  inProgress: ReadonlySet<RunId>,
): Promise<TimedLease | undefined> {
  const limits: ClaimLimits = { limit: 1, runId: run, exclude: inProgress, ...defined({ crewLimit: crew.maxRuns }) }
  const [lease] = await served.claim(crew.lanes, limits)
  return lease
}

/** After how long to try again to claim a run that is held or paused. */
const retryMs = 1_000

/** Reads from its journal the outcome of a run that could not be claimed. */
async function notReadyOutcome({ served, run }: LocatedRun, now: number): Promise<AdvanceOutcome> {
  const outcome = recordedOutcome((await readRun(served.store, run)).state, now)
  // held by another process, at the limit of its crew, or pausing after claims without progress
  return outcome.status === 'more' ? { status: 'held', until: now + retryMs } : outcome
}

/** Whether a ready run waits only for the limit of its crew. */
async function isAtCrewLimit({ served: { store }, run, crew }: LocatedRun): Promise<boolean> {
  if (crew.maxRuns === undefined || (await store.holder(run))) return false
  // after two claims without progress or the death of a holder, the run may wait for another reason
  const { tries, deaths } = await store.tries(run)
  return tries < 2 && deaths === 0
}
