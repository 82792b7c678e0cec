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
  const { store, crews, owner, leaseMs } = served
  const { dispatcher, progress, clock, hear, resendMs, pollMs, once } = work
  const lanes = crews.flatMap((crew) => crew.lanes)
  const telling = new Set<RunId>()
  const told = new Map<RunId, Told>()
  /** To be told of when there is room: where much waits, a list is long, and not to be read anew for each of them. */
  let listed: ReadyRun[] = []
  let freedAt = -Infinity
  let away: { readonly error: unknown; readonly until: number; readonly times: number } | undefined

  await askStore(served, work, async (_, alarm) => {
    if (away && once) throw away.error
    if (away && clock.monotonic() < away.until) return false
    // asked again when there is some
    if (room() <= 0) return false
    if (listed.length === 0) await list()
    while (room() > 0) {
      const next = listed.shift()
      if (!next) break
      tell(next, alarm.ring)
    }
    const isDone = telling.size === 0 && listed.length === 0
    // where telling takes as long as the work, what has come meanwhile may be more urgent
    if (!dispatcher.serve) listed = []
    return isDone
  })

  function room(): number {
    return dispatcher.serve ? atOnce - telling.size : progress.room()
  }

  async function list(): Promise<void> {
    await freeGone()
    const limit = dispatcher.serve ? most : Math.min(most, room() + telling.size + told.size)
    const ready = await store.ready(lanes, limit)
    forgetOthers(ready)
    listed = ready.filter((run) => !telling.has(run.run) && isDue(run))
  }

  /**
   * What processes of this machine had that are gone is ready only when a claim has freed it. This one takes nothing,
   * and is made as often as a worker asks without a hint.
   */
  async function freeGone(): Promise<void> {
    if (clock.monotonic() - freedAt < pollMs / 2) return
    freedAt = clock.monotonic()
    await store.claim(owner, leaseMs, lanes, { limit: 0 })
  }

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
    if (dispatcher.serve) void done.then(() => (listed.length > 0 || telling.size === 0) && ring())
    else progress.begin({ run: runId, crew: undefined }, done)
  }

  function wasTold(runId: RunId, before: Told, crew: string): void {
    told.set(runId, { ...before, times: before.times + 1 })
    if (away) hear({ event: 'dispatcher-back', dispatcher: dispatcher.name })
    away = undefined
    hear({ event: 'woken', runId, crew })
  }

  function isAway(error: unknown): void {
    listed = []
    if (!away) hear({ event: 'dispatcher-away', dispatcher: dispatcher.name, error })
    const times = away?.times ?? 0
    away = { error, until: clock.monotonic() + Math.min(1_000 * 2 ** times, longestPause), times: times + 1 }
  }
}
