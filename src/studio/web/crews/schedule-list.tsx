// Schedules with their next runs, and a note if no worker has queued the next run.
import type { JSX } from 'preact'
import { longTime } from '../../../text/words.ts'
import type { ScheduleView } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { useResource, type Resource } from '../api/resource.ts'
import { Failed, Loading } from '../parts/states.tsx'
import { now } from '../parts/time.tsx'
import { Link, runPath } from '../routing/router.tsx'

export function useSchedules(crew?: string): Resource<readonly ScheduleView[]> {
  return useResource(`schedules ${crew ?? ''}`, async (signal) => {
    const { schedules } = await call('GET /schedules', { query: crew === undefined ? {} : { crew }, signal })
    return schedules
  })
}

interface ListProps {
  readonly resource: Resource<readonly ScheduleView[]>
  /** Whether to show the crew of each schedule. */
  readonly crews?: boolean
}

export function ScheduleList({ resource, crews = false }: ListProps): JSX.Element {
  const { value, error, again } = resource
  if (!value) return error === undefined ? <Loading what="schedules" /> : <Failed error={error} again={again} />
  if (value.length === 0)
    return (
      <p class="soft">
        None. Declare schedules in code: <code>crew.schedule({'{ cron, inputs }'})</code>
      </p>
    )
  return (
    <ul class="schedules">
      {value.map((schedule) => (
        <li key={`${schedule.crew} ${schedule.name}`} class="schedule">
          <div class="schedule-head">
            <strong>{schedule.name}</strong>
            {crews && schedule.crew !== schedule.name && <span class="soft">{schedule.crew}</span>}
          </div>
          <p class="soft">
            <code>{schedule.cron}</code> {schedule.timezone}
            {schedule.priority !== 'normal' && `, ${schedule.priority} priority`}
          </p>
          <Next schedule={schedule} />
        </li>
      ))}
    </ul>
  )
}

function Next({ schedule }: { readonly schedule: ScheduleView }): JSX.Element {
  const { crew, next, timezone, runId, queued } = schedule
  if (next === undefined || runId === undefined) return <p class="faint">No more runs.</p>
  const time = <ScheduleTime at={next} timezone={timezone} />
  return (
    <>
      <p>{queued ? <Link to={runPath(runId)}>{time}</Link> : time}</p>
      {!queued && (
        <p class="note">
          The next run isn’t queued, because no worker serves {crew}. Start one: <code>npx reprise worker</code>
        </p>
      )}
    </>
  )
}

function ScheduleTime({ at, timezone }: { readonly at: string; readonly timezone: string }): JSX.Element {
  return (
    <time dateTime={at} title={`${longTime(at)} local time`}>
      {zoned(at, timezone)} <span class="faint">{untilWords(Date.parse(at) - now.value)}</span>
    </time>
  )
}

/** `Thu, 19 Nov 2026, 02:00` */
function zoned(at: string, timeZone: string): string {
  const shown = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' } as const
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  try {
    return new Intl.DateTimeFormat('en-GB', { ...shown, ...clock, timeZone }).format(new Date(at))
  } catch {
    // the browser doesn't know the time zone
    return longTime(at)
  }
}

function untilWords(ms: number): string {
  const minutes = Math.round(Math.abs(ms) / 60_000)
  const hours = Math.round(minutes / 60)
  const words =
    minutes < 1
      ? 'less than a minute'
      : minutes < 60
        ? `${minutes} min`
        : hours < 48
          ? `${hours} h`
          : `${Math.round(hours / 24)} days`
  return ms < 0 ? `${words} ago` : `in ${words}`
}
