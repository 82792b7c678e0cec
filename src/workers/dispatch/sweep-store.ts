// The sweep: what is ready in a store is an outbox, from which a dispatcher is told, at once and again where that seems
// to be lost: a run that nobody took up is told of once more after a while, later each time. Any number of workers may
// sweep a store: what they tell has the same key.
import type { Dispatcher, Wake } from '../../crew/queue/dispatcher.ts'
import type { ReadyRun, RunId } from '../../stores/store.ts'
import { askStore, type AskWork } from '../ask-store.ts'
import type { ServedStore } from '../served.ts'

export interface SweepWork extends AskWork {
  readonly dispatcher: Dispatcher
  /** Told of a run that is still ready after this time, it is told again. */
  readonly resendMs: number
}

/** How many runs are looked at in one go. */
const most = 1_000
/** How many are told of at once, where telling is all there is to do. */
const atOnce = 16
const longestPause = 30_000

interface Told {
  readonly readyAt: number
  /** On the clock of this process. */
  readonly since: number
  readonly times: number
}

export async function sweepStore(served: ServedStore, work: SweepWork): Promise<void> {
  const { store, crews } = served
  const { dispatcher, progress, clock, hear, resendMs, once } = work
  const lanes = crews.flatMap((crew) => crew.lanes)
  const telling = new Set<RunId>()
  const told = new Map<RunId, Told>()
  let away: { readonly error: unknown; readonly until: number; readonly times: number } | undefined

  await askStore(served, work, async (_, alarm) => {
    if (away && once) throw away.error
    if (away && clock.monotonic() < away.until) return false
    const ready = await store.ready(lanes, most)
    forgetOthers(ready)
    for (const run of ready) {
      if (telling.has(run.run) || !isDue(run)) continue
      if ((dispatcher.serve ? atOnce - telling.size : progress.room()) <= 0) break
      tell(run, alarm.ring)
    }
    return telling.size === 0
  })

  function forgetOthers(ready: readonly ReadyRun[]): void {
    const still = new Map(ready.map(({ run, readyAt }) => [run, readyAt]))
    for (const [run, { readyAt }] of told) if (still.get(run) !== readyAt) told.delete(run)
  }

  /** After a time, after twice that, and so on. */
  function isDue({ run }: ReadyRun): boolean {
    const before = told.get(run)
    return !before || clock.monotonic() - before.since >= resendMs * (2 ** before.times - 1)
  }

  function tell({ run: runId, crew, version, format, readyAt }: ReadyRun, ring: () => void): void {
    const before = told.get(runId) ?? { readyAt, since: clock.monotonic(), times: 0 }
    const wake: Wake = { runId, crew, version, format, key: `${runId}@${readyAt}.${before.times}` }
    telling.add(runId)
    const over = dispatcher.wake(wake).then(
      () => wasTold(runId, before, crew),
      (error: unknown) => isAway(error),
    )
    const done = over.finally(() => telling.delete(runId))
    // where telling is having it advanced, it takes the place of a run
    if (dispatcher.serve) void done.then(ring)
    else progress.begin({ run: runId, crew: undefined }, done)
  }

  function wasTold(runId: RunId, before: Told, crew: string): void {
    told.set(runId, { ...before, times: before.times + 1 })
    if (away) hear({ event: 'dispatcher-back', dispatcher: dispatcher.name })
    away = undefined
    hear({ event: 'woken', runId, crew })
  }

  function isAway(error: unknown): void {
    if (!away) hear({ event: 'dispatcher-away', dispatcher: dispatcher.name, error })
    const times = away?.times ?? 0
    away = { error, until: clock.monotonic() + Math.min(1_000 * 2 ** times, longestPause), times: times + 1 }
  }
}
