// Keeps the next run of each schedule in the queue, ahead of its time.
import type { World } from '../engine/definition.ts'
import type { OnWorkerEvent } from './report/events.ts'
import type { ServedCrew } from './served.ts'

type Clock = Pick<World, 'now' | 'sleep'>

/** Longest sleep at a time, since the clock may be set and the machine may be suspended. */
const maxWaitMs = 60_000
/** Pause after a run could not be queued. */
const retryMs = 30_000

export interface ScheduleKeeper {
  readonly isEmpty: boolean
  /** Queues missing runs; returns the time of the next check, in ms since 1970. Never rejects. */
  keep(): Promise<number>
}

export function keepSchedules(
  crews: readonly ServedCrew[],
  report: OnWorkerEvent,
  { now }: Pick<Clock, 'now'>,
): ScheduleKeeper {
  const kept = crews.flatMap((crew) => crew.schedules.map(({ name }) => ({ crew, name, asked: 0, at: 0 })))
  async function keepOne(one: (typeof kept)[number]): Promise<void> {
    const { crew, name: schedule } = one
    const after = now()
    one.asked = after.getTime()
    try {
      const next = await crew.enqueueNext(schedule, after)
      one.at = next?.time.getTime() ?? Infinity
      if (!next?.created) return
      report({ type: 'scheduled', crew: crew.name, schedule, runId: next.runId, time: next.time.toISOString() })
    } catch (error) {
      one.at = now().getTime() + retryMs
      report({ type: 'unscheduled', crew: crew.name, schedule, error })
    }
  }
  return {
    isEmpty: kept.length === 0,
    async keep() {
      const time = now().getTime()
      // after the clock was set back, times that were past are ahead again
      const missing = kept.filter(({ asked, at }) => at <= time || time < asked)
      await Promise.all(missing.map(keepOne))
      return Math.min(...kept.map(({ at }) => at))
    },
  }
}

/** Runs until the signal aborts, also for schedules without a next time: the clock may be set back. */
export async function keepSchedulesUntil(schedules: ScheduleKeeper, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !schedules.isEmpty) {
    const at = await schedules.keep()
    const ms = Math.min(Math.max(at - clock.now().getTime(), 0), maxWaitMs)
    await clock.sleep(ms, signal).catch(() => undefined)
  }
}
