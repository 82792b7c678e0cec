// Schedules with their next runs, whether anybody keeps them as far as the store knows, and a way to end each.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ScheduleView } from '../../api/contract.ts'
import { changes } from '../api/changes.ts'
import { call } from '../api/client.ts'
import { useResource, type Resource } from '../api/resource.ts'
import { mayAct, signature } from '../api/studio-session.ts'
import { Dialog } from '../parts/dialog.tsx'
import { notify } from '../parts/notices.tsx'
import { Failed, Loading, wordsOf } from '../parts/states.tsx'
import { Link } from '../routing/link.tsx'
import { runPath } from '../routing/router.ts'
import { ScheduleTime } from './schedule-time.tsx'

export function useSchedules(crew?: string): Resource<readonly ScheduleView[]> {
  return useResource(`schedules ${crew ?? ''}`, async (signal) => {
    const { schedules } = await call('GET /schedules', { query: crew === undefined ? {} : { crew }, signal })
    return schedules
  })
}

interface ListProps {
  readonly resource: Resource<readonly ScheduleView[]>
  /** Of several crews: which one is named. */
  readonly crews?: boolean
}

export function ScheduleList({ resource, crews = false }: ListProps): JSX.Element {
  const { value, error, again } = resource
  const [ending, setEnding] = useState<ScheduleView>()
  if (!value) return error === undefined ? <Loading what="schedules" /> : <Failed error={error} again={again} />
  if (value.length === 0) return <p class="soft">None.</p>
  return (
    <>
      <ul class="schedules">
        {value.map((schedule) => (
          <li key={`${schedule.crew} ${schedule.name}`} class="schedule">
            <div class="schedule-head">
              <strong>{schedule.name}</strong>
              {crews && schedule.crew !== schedule.name && <span class="soft">{schedule.crew}</span>}
              {schedule.declared && <span class="status tone-quiet">in the code</span>}
              {mayAct() && !schedule.declared && (
                <button
                  type="button"
                  class="small"
                  aria-label={`End the schedule ${schedule.name}`}
                  onClick={() => setEnding(schedule)}
                >
                  End
                </button>
              )}
            </div>
            <p class="soft">
              <code>{schedule.cron}</code> {schedule.timezone}
              {schedule.priority !== 'normal' && `, ${schedule.priority} priority`}
            </p>
            <Next schedule={schedule} />
          </li>
        ))}
      </ul>
      {ending && <EndDialog schedule={ending} onClose={() => setEnding(undefined)} />}
    </>
  )
}

function Next({ schedule }: { readonly schedule: ScheduleView }): JSX.Element {
  const { crew, next, timezone, runId, queued, late } = schedule
  if (next === undefined || runId === undefined) return <p class="faint">It has no time any more.</p>
  const time = <ScheduleTime at={next} timezone={timezone} />
  return (
    <>
      <p>{queued ? <Link to={runPath(runId)}>{time}</Link> : time}</p>
      {late && (
        <p class="note">
          It is late: nobody has begun it, so no worker serves {crew}, or all are busy. Start one:{' '}
          <code>reprise worker</code>
        </p>
      )}
      {!queued && (
        <p class="note">
          Its next run isn’t in the queue: nobody keeps this schedule before a worker serves {crew}. Start one:{' '}
          <code>reprise worker</code>
        </p>
      )}
    </>
  )
}

function EndDialog({ schedule, onClose }: { readonly schedule: ScheduleView; onClose(): void }): JSX.Element {
  const [problem, setProblem] = useState('')
  const { crew, name } = schedule
  const end = async (): Promise<void> => {
    const by = signature.peek()
    try {
      const params = { crew, schedule: name }
      await call('POST /crews/{crew}/schedules/{schedule}/end', { params, body: by === '' ? {} : { by } })
      notify(`The schedule ${name} is over.`)
      changes.value++
      onClose()
    } catch (error) {
      setProblem(wordsOf(error))
    }
  }
  return (
    <Dialog title={`End the schedule ${name}?`} onClose={onClose}>
      <p>Its run that waits is cancelled, and no other follows. Runs that have begun are not touched.</p>
      {problem !== '' && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="dialog-end">
        <button type="button" onClick={onClose}>
          Leave it
        </button>
        <button type="button" class="danger" onClick={() => void end()}>
          End it
        </button>
      </div>
    </Dialog>
  )
}
