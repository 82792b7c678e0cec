// The work of a dispatcher: advances each requested run as soon as there is room, if it is ready. The run is claimed as
// by any worker, so that crew limits hold and a run that crashes its processes is eventually given up.
import { type AdvanceOutcome, recordedOutcome } from '../../crew/verbs/advance.ts'
import type { Dispatcher, DispatchedOptions, DispatcherWork } from '../../crew/queue/dispatcher.ts'
import type { World } from '../../engine/definition.ts'
import { createNotifier, serially, seriallyByName, type SerialQueue, type SerialQueues } from '../../base/notifier.ts'
import type { RunId, Store, ClaimLimits, Lane } from '../../stores/store.ts'
import { advanceRun, type AdvanceWork, type Time } from '../advance-run.ts'
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
  /** No run is started after it aborts. */
  readonly stopping: AbortSignal
  /** Poll interval for a run whose crew is at its limit. Default: do not wait for it. */
  readonly pollMs?: number
}

type ClaimAttempt =
  | { readonly type: 'begun'; readonly advancing: Promise<AdvanceOutcome> }
  | { readonly type: 'notReady'; readonly outcome: AdvanceOutcome }

export function dispatchedWork(
  { name: dispatcher }: Pick<Dispatcher, 'name'>,
  stores: readonly ServedStore[],
  work: ServeWork,
): DispatcherWork {
  const { progress, clock, report, concurrency, stopping, pollMs } = work
  const mine = new Map<Store, Set<RunId>>(stores.map(({ store }) => [store, new Set()]))
  /** One queue per crew and store, for crews with a limit. */
  const lines = new Map<Store, SerialQueues>(stores.map(({ store }) => [store, seriallyByName()]))
  /**
   * One claim at a time per store, since each claim affects the next: one suspect per process (stores/rules/ready.ts).
   */
  const claims = new Map<Store, SerialQueue>(stores.map(({ store }) => [store, serially()]))
  const room = createRoom(progress, stopping)

  async function advance(runId: string, options: DispatchedOptions = {}): Promise<AdvanceOutcome> {
    const found = await locateRun(stores, runId)
    if ('status' in found) return found
    const { served, crew } = found
    const line = lines.get(served.store) as SerialQueues
    const taken =
      crew.maxRuns === undefined || pollMs === undefined
        ? await take(found, options)
        : await line(crew.name, () => takeWhenAllowed(found, options, pollMs))
    return taken.type === 'begun' ? taken.advancing : taken.outcome
  }

  async function take(found: LocatedRun, { until, sliceSeconds, via }: DispatchedOptions): Promise<ClaimAttempt> {
    const { served, run, crew } = found
    const here = mine.get(served.store) as Set<RunId>
    using _ = await room()
    if (stopping.aborted || until?.aborted) return { type: 'notReady', outcome: { status: 'more' } }
    const claim = claims.get(served.store) as SerialQueue
    const lease = await claim(async () => (here.has(run) ? undefined : claimOne(found, here)))
    if (!lease) return { type: 'notReady', outcome: await notReadyOutcome(found, clock.now().getTime()) }
    here.add(run)
    const time = (): Time => work.time({ until, sliceSeconds })
    const named = via === undefined ? undefined : { dispatcher, id: via }
    const advancing = advanceRun(served, lease, crew, { ...work, time }, named).finally(() => here.delete(run))
    const over = (): void => undefined
    progress.begin({ run, crew }, advancing.then(over, over))
    return { type: 'begun', advancing }
  }

  /** Runs of a crew with a limit queue up; only the first polls. */
  async function takeWhenAllowed(
    found: LocatedRun,
    options: DispatchedOptions,
    pauseMs: number,
  ): Promise<ClaimAttempt> {
    for (;;) {
      const taken = await take(found, options)
      if (taken.type === 'begun' || taken.outcome.status !== 'held' || !(await isAtCrewLimit(found))) return taken
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

/** Reserves room for one more run as soon as there is some, in order of the calls; or when the worker stops. */
function createRoom(progress: InProgress, stopping: AbortSignal): () => Promise<Disposable> {
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
        // a run that was not ready passes its room on
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
async function claimOne(
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
async function notReadyOutcome({ served, run }: LocatedRun, now: number): Promise<AdvanceOutcome> {
  const outcome = recordedOutcome((await readRun(served.store, run)).state, now)
  // held by another process, at the limit of its crew, or pausing after a failed try
  return outcome.status === 'more' ? { status: 'held', until: now + retryMs } : outcome
}

/** Whether a ready run waits only for the limit of its crew. */
async function isAtCrewLimit({ served: { store }, run, crew }: LocatedRun): Promise<boolean> {
  if (crew.maxRuns === undefined || (await store.holder(run))) return false
  // after two failed tries or a death, the run pauses for its own reasons
  const { tries, deaths } = await store.tries(run)
  return tries < 2 && deaths === 0
}
