// Schedules as the store has them, and as the code at hand declares them.
import { priorityName } from '../../crew/queue/priority.ts'
import { storedSchedules } from '../../engine/read/stored-schedules.ts'
import type { ScheduleView } from '../api/contract.ts'
import type { KnownCrew, Place } from '../place.ts'

/** A worker asks for runs at least every second: after this time, none serves the crew, or all are busy. */
const lateMs = 30_000

export async function scheduleList(place: Place, crew: string | undefined): Promise<ScheduleView[]> {
  const known = [...place.crews.values()].filter(({ definition: { name } }) => crew === undefined || name === crew)
  const declared = await Promise.all(known.map((one) => declaredIn(place, one)))
  const all = [...declared.flat(), ...(await storedIn(place, crew))]
  return all.toSorted((a, b) => ((a.next ?? '~') < (b.next ?? '~') ? -1 : 1))
}

async function declaredIn({ store }: Place, { crew }: KnownCrew): Promise<ScheduleView[]> {
  const views: ScheduleView[] = []
  for (const one of await crew.schedules()) {
    const { name, cron, timezone, priority } = one
    const time = one.next()
    const runId = time && one.runId(time)
    const row = runId === undefined ? undefined : await store.row(runId)
    const queued = row?.status === 'queued'
    const next = time?.toISOString()
    views.push({ crew: crew.name, name, cron, timezone, priority, declared: true, next, runId, queued, late: false })
  }
  return views
}

async function storedIn({ store }: Place, crew: string | undefined): Promise<ScheduleView[]> {
  const [found, now] = [await storedSchedules(store, { crew }), await store.now()]
  return found.map(({ time, priority, ...one }) => ({
    ...one,
    priority: priorityName(priority),
    declared: false,
    next: time,
    queued: true,
    late: Date.parse(time) + lateMs < now,
  }))
}
