// Schedules in code with their next runs, and a note if no worker has queued the next run; schedules in the store, which
// can be removed here.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { longTime } from '../../../text/words.ts'
import type { AddedScheduleView, ScheduleView } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { changes } from '../api/listen.ts'
import { useAction, useResource, type Resource } from '../api/resource.ts'
import { mayAct, signed } from '../api/studio-session.ts'
import { Dialog, DialogEnd } from '../parts/dialog.tsx'
import { notify } from '../parts/notices.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import { now } from '../parts/time.tsx'
import { Link, runPath } from '../routing/router.tsx'

interface Schedules {
  readonly schedules: readonly ScheduleView[]
  readonly added: readonly AddedScheduleView[]
}

export function useSchedules(crew?: string): Resource<Schedules> {
  return useResource(`schedules ${crew ?? ''}`, (signal) =>
    call('GET /schedules', { query: crew === undefined ? {} : { crew }, signal }),
  )
}

interface ListProps {
  readonly resource: Resource<Schedules>
  /** Whether to show the crew of each schedule. */
  readonly crews?: boolean
}

export function ScheduleList({ resource, crews = false }: ListProps): JSX.Element {
  const { value, error, again } = resource
  if (!value) return error === undefined ? <Loading what="schedules" /> : <Failed error={error} again={again} />
  const { schedules, added } = value
  if (schedules.length + added.length === 0)
    return (
      <p class="soft">
        None. Declare schedules in code: <code>crew.schedule({'{ cron, inputs }'})</code>, or add one on the page of a
        crew, or by <code>npx reprise schedule add</code>
      </p>
    )
  return (
    <ul class="schedules">
      {added.map((schedule) => (
        <Added key={schedule.keptBy} schedule={schedule} crews={crews} />
      ))}
      {schedules.map((schedule) => (
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

function Added({ schedule, crews }: { readonly schedule: AddedScheduleView; readonly crews: boolean }): JSX.Element {
  const { name, crew, cron, timezone, priority, next, last, problem } = schedule
  const [asking, setAsking] = useState(false)
  return (
    <li class="schedule">
      <div class="schedule-head">
        <strong>{name}</strong>
        {crews && crew !== name && <span class="soft">{crew}</span>}
        {mayAct() && (
          <button type="button" class="small" onClick={() => setAsking(true)}>
            Remove
          </button>
        )}
      </div>
      <p class="soft">
        <code>{cron}</code> {timezone}
        {priority !== 'normal' && `, ${priority} priority`}, added to the store
      </p>
      <p>
        <ScheduleTime at={next} timezone={timezone} />
      </p>
      {last && (
        <p class="soft">
          Last run:{' '}
          {last.status === undefined ? (
            `${last.runId}, deleted`
          ) : (
            <>
              <Link to={runPath(last.runId)}>{last.runId}</Link>, {last.status}
            </>
          )}
        </p>
      )}
      {problem !== undefined && (
        <p class="note">
          {problem}. Workers queue its runs: <code>npx reprise worker</code>
        </p>
      )}
      {asking && <RemoveDialog name={name} onClose={() => setAsking(false)} />}
    </li>
  )
}

function RemoveDialog({ name, onClose }: { readonly name: string; onClose(): void }): JSX.Element {
  const { problem, attempt } = useAction()
  const remove = (): Promise<void> =>
    attempt(async () => {
      await call('POST /schedules/{schedule}/remove', { params: { schedule: name }, body: signed() })
      notify('Schedule removed.')
      changes.value++
      onClose()
    })
  return (
    <Dialog title={`Remove schedule ${name}?`} onClose={onClose}>
      <p>It queues no more runs. The runs that it has queued stay.</p>
      <DialogEnd problem={problem} close="Keep the schedule" onClose={onClose}>
        <button type="button" class="danger" onClick={() => void remove()}>
          Remove the schedule
        </button>
      </DialogEnd>
    </Dialog>
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
