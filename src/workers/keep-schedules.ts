// Keeps the next run of each schedule in the queue, ahead of its time.
import type { World } from '../engine/definition.ts'
import type { Hear } from './report/events.ts'
import type { ServedCrew } from './served.ts'

type Clock = Pick<World, 'now' | 'sleep'>

/** A clock may be set, and a machine may sleep: nobody waits for longer at a time. */
const longestWait = 60_000
/** What could not be queued is tried again after this time. */
const pause = 30_000

export interface Schedules {
  /** Queues what is missing; gives when to look again, in ms since 1970. Never rejects. */
  keep(): Promise<number>
}

export function keepSchedules(crews: readonly ServedCrew[], hear: Hear, { now }: Pick<Clock, 'now'>): Schedules {
  const kept = crews.flatMap((crew) => crew.schedules.map(({ name }) => ({ crew, name, at: 0 })))
  async function keepOne(one: (typeof kept)[number]): Promise<void> {
    const { crew, name: schedule } = one
    try {
      const next = await crew.enqueueNext(schedule, now())
      one.at = next?.time.getTime() ?? Infinity
      if (!next?.created) return
      hear({ event: 'scheduled', crew: crew.name, schedule, runId: next.runId, time: next.time.toISOString() })
    } catch (error) {
      one.at = now().getTime() + pause
      hear({ event: 'unscheduled', crew: crew.name, schedule, error })
    }
  }
  return {
    async keep() {
      const missing = kept.filter(({ at }) => at <= now().getTime())
      await Promise.all(missing.map(keepOne))
      return Math.min(...kept.map(({ at }) => at))
    },
  }
}

/** Until the signal aborts. */
export async function keepOn(schedules: Schedules, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const at = await schedules.keep()
    if (at === Infinity) return
    const ms = Math.min(Math.max(at - clock.now().getTime(), 0), longestWait)
    await clock.sleep(ms, signal).catch(() => undefined)
  }
}
