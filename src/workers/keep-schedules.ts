// Keeps the next run of each schedule in the queue, ahead of its time.
import type { World } from '../engine/definition.ts'
import type { OnWorkerEvent } from './report/events.ts'
import type { ServedCrew } from './served.ts'

type Clock = Pick<World, 'now' | 'sleep'>

/** A clock may be set, and a machine may sleep: nobody waits for longer at a time. */
const maxWaitMs = 60_000
/** What could not be queued is tried again after this time. */
const retryMs = 30_000

export interface ScheduleKeeper {
  readonly isEmpty: boolean
  /** Queues what is missing; gives when to look again, in ms since 1970. Never rejects. */
  keep(): Promise<number>
}

export function keepSchedules(
  crews: readonly ServedCrew[],
  hear: OnWorkerEvent,
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
      hear({ event: 'scheduled', crew: crew.name, schedule, runId: next.runId, time: next.time.toISOString() })
    } catch (error) {
      one.at = now().getTime() + retryMs
      hear({ event: 'unscheduled', crew: crew.name, schedule, error })
    }
  }
  return {
    isEmpty: kept.length === 0,
    async keep() {
      const time = now().getTime()
      // a clock that was set back since has times before it that were taken for past
      const missing = kept.filter(({ asked, at }) => at <= time || time < asked)
      await Promise.all(missing.map(keepOne))
      return Math.min(...kept.map(({ at }) => at))
    },
  }
}

/** Until the signal aborts. It also looks at schedules without a time left: the clock may be set back. */
export async function keepSchedulesUntil(schedules: ScheduleKeeper, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !schedules.isEmpty) {
    const at = await schedules.keep()
    const ms = Math.min(Math.max(at - clock.now().getTime(), 0), maxWaitMs)
    await clock.sleep(ms, signal).catch(() => undefined)
  }
}
