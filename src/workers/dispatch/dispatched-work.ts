// What a worker does for a dispatcher: each run that it is asked for is advanced as soon as there is room for it, and
// only if it is ready.
import type { AdvanceOutcome } from '../../crew/advance/advance.ts'
import type { Dispatcher, DispatchedOptions, DispatchedWork } from '../../crew/queue/dispatcher.ts'
import type { World } from '../../engine/definition.ts'
import { createNotifier } from '../../base/notifier.ts'
import { serially, seriallyByName, type SerialQueue, type SerialQueues } from '../../base/serially.ts'
import type { RunId, Store } from '../../stores/store.ts'
import { advanceRun, type AdvanceWork } from '../advance-run.ts'
import type { InProgress } from '../in-progress.ts'
import type { ServedStore } from '../served.ts'
import type { Time } from '../time.ts'
import { claimOne, locateRun, isAtCrewLimit, notReadyOutcome, type LocatedRun } from './advance-one.ts'

export interface ServeWork extends AdvanceWork {
  readonly progress: InProgress
  readonly clock: Pick<World, 'now' | 'monotonic' | 'sleep'>
  readonly concurrency: number
  /** Nothing is begun after it. */
  readonly stopping: AbortSignal
  /** How often a run is asked for whose crew has no room for it; left out, it is not waited for. */
  readonly pollMs?: number
}

type ClaimAttempt =
  | { readonly type: 'begun'; readonly advancing: Promise<AdvanceOutcome> }
  | { readonly type: 'notReady'; readonly outcome: AdvanceOutcome }

export function dispatchedWork(
  { name: dispatcher }: Pick<Dispatcher, 'name'>,
  stores: readonly ServedStore[],
  work: ServeWork,
): DispatchedWork {
  const { progress, clock, hear, concurrency, stopping, pollMs } = work
  const mine = new Map<Store, Set<RunId>>(stores.map(({ store }) => [store, new Set()]))
  /** In each store, those of a name have their own limit. */
  const lines = new Map<Store, SerialQueues>(stores.map(({ store }) => [store, seriallyByName()]))
  /** One at a time of each store: what one is given counts for the next, as a suspect does (stores/rules/ready.ts). */
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

  /** The runs of a crew with a limit stand in line, and only the first of them asks again and again. */
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
    tell: (said) => hear({ event: 'dispatcher', dispatcher, said }),
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
        // a run that was not ready leaves its room to the next
        if (progress.room() > 0) freed.notify()
      },
    }
  }
  return () => inOrder(reserve)
}
