// Enqueues the next run of each schedule before it is due.
import type { World } from '../engine/definition.ts'
import type { OnWorkerEvent } from './report/events.ts'
import type { ServedCrew } from './served.ts'

type Clock = Pick<World, 'now' | 'sleep'>

/** Longest sleep, since the clock may be set or the machine suspended during it. */
const maxWaitMs = 60_000
/** How long to wait before trying again, if a run could not be enqueued. */
const retryMs = 30_000

export interface ScheduleKeeper {
  readonly isEmpty: boolean
  /** Enqueues missing runs and returns the time of the next check, in ms since 1970. */
  keep(): Promise<number>
}

export function keepSchedules(
  crews: readonly ServedCrew[],
  report: OnWorkerEvent,
  { now }: Pick<Clock, 'now'>,
): ScheduleKeeper {
  const kept = crews.flatMap((crew) => crew.schedules.map(({ name }) => ({ crew, name, checkedAt: 0, nextAt: 0 })))
  async function keepOne(one: (typeof kept)[number]): Promise<void> {
    const { crew, name: schedule } = one
    const after = now()
    one.checkedAt = after.getTime()
    try {
      const next = await crew.enqueueNext(schedule, after)
      one.nextAt = next?.time.getTime() ?? Infinity
      if (!next?.created) return
      report({ type: 'scheduled', crew: crew.name, schedule, runId: next.runId, time: next.time.toISOString() })
    } catch (error) {
      one.nextAt = now().getTime() + retryMs
      report({ type: 'unscheduled', crew: crew.name, schedule, error })
    }
  }
  return {
    isEmpty: kept.length === 0,
    async keep() {
      const time = now().getTime()
      // if the clock was set back, an earlier run may be the next
      const missing = kept.filter(({ checkedAt, nextAt }) => nextAt <= time || time < checkedAt)
      await Promise.all(missing.map(keepOne))
      return Math.min(...kept.map(({ nextAt }) => nextAt))
    },
  }
}

/** Checks until the signal aborts, even if no schedule has a next time: the clock may be set back. */
export async function keepSchedulesUntil(schedules: ScheduleKeeper, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !schedules.isEmpty) {
    const at = await schedules.keep()
    const ms = Math.min(Math.max(at - clock.now().getTime(), 0), maxWaitMs)
    await clock.sleep(ms, signal).catch(() => undefined)
  }
}
