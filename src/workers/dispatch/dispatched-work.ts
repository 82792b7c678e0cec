// The work of a dispatcher: advances each requested run as soon as there is room, if it is ready.
import type { AdvanceOutcome } from '../../crew/verbs/advance.ts'
import type { Dispatcher, DispatchedOptions, DispatcherWork } from '../../crew/queue/dispatcher.ts'
import type { World } from '../../engine/definition.ts'
import { createNotifier } from '../../base/notifier.ts'
import { serially, seriallyByName, type SerialQueue, type SerialQueues } from '../../base/serially.ts'
import type { RunId, Store } from '../../stores/store.ts'
import { advanceRun, type AdvanceWork, type Time } from '../advance-run.ts'
import type { InProgress } from '../in-progress.ts'
import type { ServedStore } from '../served.ts'
import { claimOne, locateRun, isAtCrewLimit, notReadyOutcome, type LocatedRun } from './advance-one.ts'

export interface ServeWork extends AdvanceWork {
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
