// The sweep treats the ready runs of a store as an outbox: it wakes the dispatcher for each run, and again if the wake
// seems lost. Any number of workers may sweep one store; wakes sent at about the same time have the same key. If a wake
// has no effect, the worker claims the run itself, so that no run waits forever for a stuck dispatcher.
import type { Dispatcher } from '../../crew/queue/dispatcher.ts'
import type { ReadyRun, RunId } from '../../stores/store.ts'
import { pollStore, type PollWork } from '../serve-store.ts'
import type { ServedStore } from '../served.ts'
import { sentWakes } from './sent-wakes.ts'

export interface SweepWork extends PollWork {
  readonly dispatcher: Dispatcher
  /** Pause before a second wake of a run that is still ready. */
  readonly resendMs: number
  /** Advances a run in this process. Never rejects. Undefined if this worker executes nothing. */
  advanceHere?(runId: RunId): Promise<void>
}

/** How many ready runs one sweep reads. */
const readyLimit = 1_000
/** Maximum number of wakes in progress, if waking does not wait for the work. */
const wakeConcurrency = 16
/** Wakes of one run within this time have the same key, so that dispatchers can drop duplicates. */
const sameWakeMs = 2_000
/** Pause of all wakes after one could not be sent. */
const pauseMs = 1_000

export async function sweepStore(served: ServedStore, work: SweepWork): Promise<void> {
  const { store, crews, claim } = served
  const { dispatcher, progress, clock, report, resendMs, pollMs, once, advanceHere } = work
  const wakes = sentWakes(resendMs, clock.monotonic)
  const waking = new Set<RunId>()
  const advancing = new Set<RunId>()
  /** Ready runs still to be woken. Kept between polls, since reading a long list for each run would be slow. */
  let listed: ReadyRun[] = []
  let freedAt = -Infinity
  let awayUntil: number | undefined
  // separate reads, so that runs waiting for the limit of a crew don't crowd out others
  const laneGroups = [
    crews.filter(({ maxRuns }) => maxRuns === undefined).flatMap(({ lanes }) => lanes),
    ...crews.filter(({ maxRuns }) => maxRuns !== undefined).map(({ lanes }) => lanes),
  ].filter((lanes) => lanes.length > 0)

  await pollStore(served, work, async (_, hints) => {
    if (!once && awayUntil !== undefined && clock.monotonic() < awayUntil) return false
    // the store is polled again once there is room
    if (room() <= 0) return false
    if (listed.length === 0) await list()
    while (room() > 0) {
      const next = listed.shift()
      if (!next) break
      begin(next, hints.notify)
    }
    const isDone = waking.size === 0 && listed.length === 0
    // if a wake takes as long as the work, more urgent runs may have become ready meanwhile
    if (!dispatcher.serve) listed = []
    const failure = once && isDone ? wakes.failure() : undefined
    if (failure) throw failure.error
    return isDone
  })

  function room(): number {
    return dispatcher.serve ? wakeConcurrency - waking.size : progress.room()
  }

  async function list(): Promise<void> {
    await freeDeadLeases()
    const ready = (await Promise.all(laneGroups.map((lanes) => store.ready(lanes, readyLimit)))).flat()
    wakes.retain(ready)
    listed = ready.filter((run) => !waking.has(run.run) && !advancing.has(run.run) && wakes.isDue(run))
  }

  /**
   * A claim frees the leases of dead processes on this machine, so that their runs become ready. This one claims none.
   */
  async function freeDeadLeases(): Promise<void> {
    if (clock.monotonic() - freedAt < pollMs / 2) return
    freedAt = clock.monotonic()
    await claim(laneGroups.flat(), { limit: 0 })
  }

  function begin(run: ReadyRun, onOver: () => void): void {
    const { run: runId } = run
    if (advanceHere && wakes.count(run) > 0 && progress.room() > 0) {
      wakes.sent(run)
      advancing.add(runId)
      void advanceHere(runId).finally(() => advancing.delete(runId))
      return
    }
    waking.add(runId)
    const over = wake(run).finally(() => waking.delete(runId))
    // without `serve`, a wake lasts as long as the work and takes the room of a run
    if (dispatcher.serve) void over.then(() => (listed.length > 0 || waking.size === 0) && onOver())
    else progress.begin({ run: runId, crew: undefined }, over)
  }

  async function wake(run: ReadyRun): Promise<void> {
    const { run: runId, crew, version, format, readyAt } = run
    try {
      await dispatcher.wake({ runId, crew, version, format, key: `${runId}@${readyAt}.${timeSlot()}` })
      wakes.sent(run)
      if (awayUntil !== undefined) report({ type: 'dispatcher-back', dispatcher: dispatcher.name })
      awayUntil = undefined
      report({ type: 'woken', runId, crew })
    } catch (error) {
      listed = []
      wakes.failed(run, error)
      if (awayUntil === undefined) report({ type: 'dispatcher-away', dispatcher: dispatcher.name, error })
      awayUntil = clock.monotonic() + pauseMs
    }
  }

  /** Part of the key, so that a later wake isn't a duplicate. */
  function timeSlot(): number {
    return Math.floor(clock.now().getTime() / Math.min(sameWakeMs, resendMs))
  }
}
