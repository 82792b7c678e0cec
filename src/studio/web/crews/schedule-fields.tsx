// The part of the form that says when a run is to come again and again: what is typed is read by the server as it is
// typed, and what is wrong stands at its field.
import type { JSX } from 'preact'
import type { SchedulePlan } from '../../api/contract.ts'
import { sentence } from '../parts/states.tsx'
import { ScheduleTime } from './schedule-time.tsx'

export interface Scheduled {
  readonly cron: string
  readonly timezone: string
  readonly name: string
}

export const firstScheduled: Scheduled = { cron: '', timezone: ownTimezone(), name: '' }

const usual: readonly (readonly [words: string, cron: string])[] = [
  ['every hour', '0 * * * *'],
  ['every day at 2:00', '0 2 * * *'],
  ['on weekdays at 8:00', '0 8 * * 1-5'],
  ['on Mondays at 8:00', '0 8 * * 1'],
]

interface FieldsProps {
  readonly crew: string
  readonly value: Scheduled
  readonly plan: SchedulePlan | undefined
  readonly busy: boolean
  onChange(value: Scheduled): void
}

export function ScheduleFields({ crew, value, plan, busy, onChange }: FieldsProps): JSX.Element {
  const wrong = plan?.wrong ?? {}
  return (
    <fieldset>
      <legend>When</legend>
      <Field
        id="cron"
        label="Cron expression"
        hint="Minute, hour, day, month, weekday; or @daily and the like."
        wrong={wrong.cron}
        mono
        value={value.cron}
        onInput={(cron) => onChange({ ...value, cron })}
      />
      <div class="chips" role="group" aria-label="Usual ones">
        {usual.map(([words, cron]) => (
          <button key={cron} type="button" class="chip" onClick={() => onChange({ ...value, cron })}>
            {words}
          </button>
        ))}
      </div>
      <Field
        id="timezone"
        label="Time zone"
        wrong={wrong.timezone}
        list="timezones"
        value={value.timezone}
        onInput={(timezone) => onChange({ ...value, timezone })}
      />
      <datalist id="timezones">
        {timezones().map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Field
        id="schedule-name"
        label="Name"
        hint={`The ids of its runs begin with it. Left out, ${crew}.`}
        wrong={wrong.name}
        value={value.name}
        onInput={(name) => onChange({ ...value, name })}
      />
      <div class="next-times" aria-live="polite" aria-busy={busy}>
        {plan && plan.times.length > 0 ? (
          <>
            <p class="soft">The first runs, {plan.timezone}:</p>
            <ol>
              {plan.times.map((time) => (
                <li key={time}>
                  <ScheduleTime at={time} timezone={plan.timezone} />
                </li>
              ))}
            </ol>
          </>
        ) : (
          <p class="faint">The first three times stand here before anything is set.</p>
        )}
      </div>
      <p class="hint">
        Workers that serve the crew begin them (<code>reprise worker</code>). One that has nothing to do isn’t seen from
        here: what nobody begins is shown as late.
      </p>
    </fieldset>
  )
}

interface FieldProps {
  readonly id: string
  readonly label: string
  readonly hint?: string
  readonly wrong: string | undefined
  readonly value: string
  readonly mono?: boolean
  readonly list?: string
  onInput(value: string): void
}

function Field({ id, label, hint, wrong, value, mono = false, list, onInput }: FieldProps): JSX.Element {
  const about = [hint === undefined ? '' : `${id}-hint`, wrong === undefined ? '' : `${id}-problem`]
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
      <input
        id={id}
        type="text"
        class={mono ? 'mono' : ''}
        spellcheck={false}
        autocomplete="off"
        list={list}
        aria-invalid={wrong !== undefined}
        aria-describedby={about.join(' ').trim() || undefined}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {wrong !== undefined && (
        <p id={`${id}-problem`} class="problem" role="alert">
          {sentence(wrong)}
        </p>
      )}
    </div>
  )
}

function ownTimezone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
}

function timezones(): readonly string[] {
  return ['UTC', ...Intl.supportedValuesOf('timeZone')]
}
