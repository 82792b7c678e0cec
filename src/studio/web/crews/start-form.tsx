// The form to start a run of a crew: here or by a worker, now, later or on a schedule. It can show the plan first.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Json } from '../../../journal/json.ts'
import type { CrewView, PlanView, StartBody } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { useAction } from '../api/resource.ts'
import { schemaFields, type Field } from '../../../schema/schema-shape.ts'
import { Problem } from '../parts/states.tsx'
import { SelectField, TextField, ValueField } from '../form/value-field.tsx'
import { notify } from '../parts/notices.tsx'
import { changes } from '../api/listen.ts'
import { signed } from '../api/studio-session.ts'
import { navigate, runPath } from '../routing/router.tsx'
import { PlanTable } from '../actions/plan-table.tsx'

export function StartForm({ crew }: { readonly crew: CrewView }): JSX.Element {
  const [inputs, setInputs] = useState<{ readonly [name: string]: Json }>({})
  const [id, setId] = useState('')
  const [how, setHow] = useState<'here' | 'queue' | 'schedule'>('here')
  const [notBefore, setNotBefore] = useState('')
  const [schedule, setSchedule] = useState({
    name: '',
    cron: '',
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  })
  const [plan, setPlan] = useState<PlanView>()
  const { busy, problem, attempt } = useAction()
  const params = { crew: crew.name }

  const preview = (): Promise<void> =>
    attempt(async () => setPlan(await call('POST /crews/{crew}/plan', { params, body: { inputs } })))
  const add = (): Promise<void> =>
    attempt(async () => {
      const { name, cron, timezone } = schedule
      const body = { inputs, cron, timezone, ...(name.trim() === '' ? {} : { name: name.trim() }), ...signed() }
      const { name: added } = await call('POST /crews/{crew}/schedules', { params, body })
      notify(`Schedule ${added} added.`)
      changes.value++
    })
  const start = (): Promise<void> =>
    attempt(async () => {
      if (how === 'schedule') return
      const delay = notBefore === '' ? 0 : Math.max(0, Math.round((Date.parse(notBefore) - Date.now()) / 1_000))
      const body: StartBody = {
        inputs,
        how,
        ...(id.trim() === '' ? {} : { id: id.trim() }),
        ...(how === 'queue' && delay > 0 ? { delay } : {}),
      }
      const { runId } = await call('POST /crews/{crew}/runs', { params, body })
      navigate(runPath(runId))
    })
  return (
    <form
      class="panel crew-part form"
      aria-label={`Start a run of ${crew.name}`}
      onSubmit={(event) => {
        event.preventDefault()
        if (!busy) void (how === 'schedule' ? add() : start())
      }}
    >
      <h2>Start a run</h2>
      {inputFields(crew).map(({ name, title, description, required, shape }) => (
        <ValueField
          key={name}
          shape={shape}
          label={title}
          description={description}
          required={required}
          value={inputs[name]}
          onChange={(value) => {
            const { [name]: _, ...others } = inputs
            setInputs(value === undefined ? others : { ...inputs, [name]: value })
            setPlan(undefined)
          }}
        />
      ))}
      {crew.inputs.length === 0 && <p class="soft">This crew takes no inputs.</p>}
      <SelectField
        label="Execute"
        value={how}
        options={[
          ['here', 'here, now'],
          ['queue', 'by a worker'],
          ['schedule', 'by a worker, on a schedule'],
        ]}
        onChange={(chosen) => setHow(chosen)}
      />
      {how === 'schedule' && <ScheduleFields value={schedule} onChange={setSchedule} />}
      {how !== 'schedule' && (
        <ValueField
          shape={{ type: 'text', long: false }}
          label="Run id"
          description="Generated if empty. With the id of an existing run, that run continues."
          value={id}
          onChange={(value) => setId(typeof value === 'string' ? value : '')}
        />
      )}
      {how === 'queue' && (
        <div class="field">
          <label for="later">
            Not before <span class="faint">optional</span>
          </label>
          <input
            id="later"
            type="datetime-local"
            value={notBefore}
            onInput={(event) => setNotBefore(event.currentTarget.value)}
          />
        </div>
      )}
      {plan && (
        <div class="plan">
          <PlanTable plan={plan} />
        </div>
      )}
      <Problem text={problem} />
      <div class="send">
        <button type="submit" class="primary" disabled={busy}>
          {how === 'schedule' ? 'Add schedule' : 'Start'}
        </button>
        <button type="button" disabled={busy} onClick={() => void preview()}>
          Show plan
        </button>
      </div>
    </form>
  )
}

interface ScheduleEntry {
  readonly name: string
  readonly cron: string
  readonly timezone: string
}

interface ScheduleFieldsProps {
  readonly value: ScheduleEntry
  onChange(value: ScheduleEntry): void
}

function ScheduleFields({ value, onChange }: ScheduleFieldsProps): JSX.Element {
  return (
    <>
      <TextField
        label="Times"
        hint="minute, hour, day, month and weekday, such as 0 2 * * *; or @daily"
        value={value.cron}
        onInput={(cron) => onChange({ ...value, cron })}
      />
      <TextField label="Time zone" value={value.timezone} onInput={(timezone) => onChange({ ...value, timezone })} />
      <TextField
        label="Name"
        hint="the crew’s, if empty; run ids begin with it"
        value={value.name}
        onInput={(name) => onChange({ ...value, name })}
      />
    </>
  )
}

/** The form fields for the inputs, by the crew's input schema. Inputs without a schema are text fields. */
function inputFields({ inputs, inputSchema }: CrewView): Field[] {
  const declared = schemaFields(inputSchema)
  const shape = { type: 'text', long: true } as const
  return inputs.map((name) => {
    const field = declared.find((one) => one.name === name)
    if (!field) return { name, title: name, description: undefined, required: false, shape }
    return { ...field, shape: field.shape.type === 'text' ? shape : field.shape }
  })
}
