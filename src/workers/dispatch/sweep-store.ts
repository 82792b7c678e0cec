// The sweep: what is ready in a store is an outbox, from which a dispatcher is told, at once and again where that seems
// to be lost. Any number of workers may sweep a store: what they tell at the same time has the same key. A run of which
// it was told in vain is taken by the worker itself, if it can: no run waits for ever for a dispatcher that is stuck.
import type { Dispatcher } from '../../crew/queue/dispatcher.ts'
import type { ReadyRun, RunId } from '../../stores/store.ts'
import { askStore, type AskWork } from '../ask-store.ts'
import type { ServedStore } from '../served.ts'
import { sentWakes } from './sent-wakes.ts'

export interface SweepWork extends AskWork {
  readonly dispatcher: Dispatcher
  /** When a run that is still ready is told of again. */
  readonly resendMs: number
  /** Has a run advanced in this process. Never rejects. Left out where nothing is executed. */
  take?(runId: RunId): Promise<void>
}

/** How many runs are looked at in one go. */
const readyLimit = 1_000
/** How many are told of at once, where telling is all there is to do. */
const wakeConcurrency = 16
/** What is told of a run within this time is one and the same: less than any dispatcher needs to lose it. */
const sameWakeMs = 2_000
/** When it could not be told of a run, it is left alone for so long. */
const pauseMs = 1_000

export async function sweepStore(served: ServedStore, work: SweepWork): Promise<void> {
  const { store, crews, claim } = served
  const { dispatcher, progress, clock, hear, resendMs, pollMs, once, take } = work
  const told = sentWakes(resendMs, clock.monotonic)
  const telling = new Set<RunId>()
  const taking = new Set<RunId>()
  /** To be told of when there is room: where much waits, a list is long, and not to be read anew for each of them. */
  let listed: ReadyRun[] = []
  let freedAt = -Infinity
  let awayUntil: number | undefined
  // what waits for the limit of a crew stays ready, and must not hide what others have
  const looks = [
    crews.filter(({ maxRuns }) => maxRuns === undefined).flatMap(({ lanes }) => lanes),
    ...crews.filter(({ maxRuns }) => maxRuns !== undefined).map(({ lanes }) => lanes),
  ].filter((lanes) => lanes.length > 0)

  await askStore(served, work, async (_, hints) => {
    if (!once && awayUntil !== undefined && clock.monotonic() < awayUntil) return false
    // asked again when there is some
    if (room() <= 0) return false
    if (listed.length === 0) await list()
    while (room() > 0) {
      const next = listed.shift()
      if (!next) break
      begin(next, hints.notify)
    }
    const isDone = telling.size === 0 && listed.length === 0
    // where telling takes as long as the work, what has come meanwhile may be more urgent
    if (!dispatcher.serve) listed = []
    const failure = once && isDone ? told.failure() : undefined
    if (failure) throw failure.error
    return isDone
  })

  function room(): number {
    return dispatcher.serve ? wakeConcurrency - telling.size : progress.room()
  }

  async function list(): Promise<void> {
    await freeGone()
    const ready = (await Promise.all(looks.map((lanes) => store.ready(lanes, readyLimit)))).flat()
    told.keep(ready)
    listed = ready.filter((run) => !telling.has(run.run) && !taking.has(run.run) && told.isDue(run))
  }

  /**
   * What processes of this machine had that are gone is ready only when a claim has freed it. This one takes nothing,
   * and is made as often as a worker asks without a hint.
   */
  async function freeGone(): Promise<void> {
    if (clock.monotonic() - freedAt < pollMs / 2) return
    freedAt = clock.monotonic()
    await claim(looks.flat(), { limit: 0 })
  }

  function begin(run: ReadyRun, onOver: () => void): void {
    const { run: runId } = run
    if (take && told.times(run) > 0 && progress.room() > 0) {
      told.told(run)
      taking.add(runId)
      void take(runId).finally(() => taking.delete(runId))
      return
    }
    telling.add(runId)
    const over = tell(run).finally(() => telling.delete(runId))
    // where telling is having it advanced, it takes the place of a run
    if (dispatcher.serve) void over.then(() => (listed.length > 0 || telling.size === 0) && onOver())
    else progress.begin({ run: runId, crew: undefined }, over)
  }

  async function tell(run: ReadyRun): Promise<void> {
    const { run: runId, crew, version, format, readyAt } = run
    try {
      await dispatcher.wake({ runId, crew, version, format, key: `${runId}@${readyAt}.${slot()}` })
      told.told(run)
      if (awayUntil !== undefined) hear({ event: 'dispatcher-back', dispatcher: dispatcher.name })
      awayUntil = undefined
      hear({ event: 'woken', runId, crew })
    } catch (error) {
      listed = []
      told.failed(run, error)
      if (awayUntil === undefined) hear({ event: 'dispatcher-away', dispatcher: dispatcher.name, error })
      awayUntil = clock.monotonic() + pauseMs
    }
  }

  /** A worker that has just begun tells something new, whatever those before it told. */
  function slot(): number {
    return Math.floor(clock.now().getTime() / Math.min(sameWakeMs, resendMs))
  }
}
