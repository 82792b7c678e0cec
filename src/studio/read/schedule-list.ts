// Schedules as the code at hand declares them.
import type { ScheduleView } from '../api/contract.ts'
import type { LoadedCrew, StudioContext } from '../context.ts'

export async function scheduleList(place: StudioContext, crew: string | undefined): Promise<ScheduleView[]> {
  const known = [...place.crews.values()].filter(({ definition: { name } }) => crew === undefined || name === crew)
  const views = await Promise.all(known.map((one) => schedulesOf(place, one)))
  return views.flat().toSorted((a, b) => ((a.next ?? '~') < (b.next ?? '~') ? -1 : 1))
}

async function schedulesOf({ store }: StudioContext, { crew }: LoadedCrew): Promise<ScheduleView[]> {
  const views: ScheduleView[] = []
  for (const one of await crew.schedules()) {
    const { name, cron, timezone, priority } = one
    const time = one.next()
    const runId = time && one.runId(time)
    const row = runId === undefined ? undefined : await store.row(runId)
    const queued = row?.status === 'queued'
    views.push({ crew: crew.name, name, cron, timezone, priority, next: time?.toISOString(), runId, queued })
  }
  return views
}
