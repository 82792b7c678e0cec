// Starts a run of a crew, here or by a worker, now, later or again and again. The plan is shown first, where somebody
// asks for it; the first times of a schedule always are.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Json } from '../../../journal/json.ts'
import type { CrewView, PlanView, ScheduleBody, StartBody } from '../../api/contract.ts'
import { changes } from '../api/changes.ts'
import { call } from '../api/client.ts'
import { useTypedAnswer } from '../api/typed-answer.ts'
import { fieldsOf, type Field } from '../form/schema-shape.ts'
import { ValueField } from '../form/value-field.tsx'
import { notify } from '../parts/notices.tsx'
import { sentence, wordsOf } from '../parts/states.tsx'
import { navigate, place, runPath } from '../routing/router.ts'
import { PlanTable } from '../take/plan-table.tsx'
import { firstScheduled, ScheduleFields, type Scheduled } from './schedule-fields.tsx'

export function StartForm({ crew }: { readonly crew: CrewView }): JSX.Element {
  const [inputs, setInputs] = useState<{ readonly [name: string]: Json }>({})
  const [id, setId] = useState('')
  const [how, setHow] = useState<'here' | 'queue' | 'schedule'>(
    place.value.query.get('how') === 'schedule' ? 'schedule' : 'here',
  )
  const [later, setLater] = useState('')
  const [plan, setPlan] = useState<PlanView>()
  const [problem, setProblem] = useState('')
  const [busy, setBusy] = useState(false)
  const params = { crew: crew.name }
  const [scheduled, setScheduled] = useState(firstScheduled)
  const schedule = bodyOf(scheduled, inputs)
  const times = useTypedAnswer(
    how === 'schedule' && schedule.cron !== '' ? JSON.stringify(schedule) : undefined,
    (signal) => call('POST /crews/{crew}/schedules/plan', { params, body: schedule, signal }),
  )
  const wrong = Object.keys(times.value?.wrong ?? {})
  const unready = how === 'schedule' && (!times.value || times.busy || wrong.length > 0)

  const attempt = async (act: () => Promise<void>): Promise<void> => {
    setBusy(true)
    setProblem('')
    try {
      await act()
    } catch (error) {
      setProblem(wordsOf(error))
    }
    setBusy(false)
  }
  const preview = (): Promise<void> =>
    attempt(async () => setPlan(await call('POST /crews/{crew}/plan', { params, body: { inputs } })))
  const start = (): Promise<void> =>
    attempt(async () => {
      if (how === 'schedule') {
        const { name } = await call('POST /crews/{crew}/schedules', { params, body: schedule })
        notify(`The schedule ${name} is set.`)
        setScheduled(firstScheduled)
        setHow('here')
        changes.value++
        return
      }
      const delay = later === '' ? 0 : Math.max(0, Math.round((Date.parse(later) - Date.now()) / 1_000))
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
        if (!busy && !unready) void start()
      }}
    >
      <h2>{how === 'schedule' ? 'Schedule runs' : 'Start a run'}</h2>
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
      {times.value?.wrong.inputs !== undefined && (
        <p class="problem" role="alert">
          {sentence(times.value.wrong.inputs)}
        </p>
      )}
      {crew.inputs.length === 0 && <p class="soft">It takes no inputs.</p>}
      <div class="field">
        <label for="how">Executed</label>
        <select id="how" value={how} onChange={(event) => setHow(event.currentTarget.value as typeof how)}>
          <option value="here">here, at once</option>
          <option value="queue">by a worker</option>
          <option value="schedule">by workers, on a schedule</option>
        </select>
      </div>
      {how === 'schedule' ? (
        <ScheduleFields
          crew={crew.name}
          value={scheduled}
          plan={times.value}
          busy={times.busy}
          onChange={setScheduled}
        />
      ) : (
        <ValueField
          shape={{ is: 'text', long: false }}
          label="Id"
          description="Left out, one is made. The same id again means the same run."
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
            value={later}
            onInput={(event) => setLater(event.currentTarget.value)}
          />
        </div>
      )}
      {plan && (
        <div class="plan">
          <PlanTable plan={plan} />
        </div>
      )}
      {problem !== '' && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="send">
        <button type="submit" class="primary" disabled={busy || unready}>
          {how === 'schedule' ? 'Set the schedule' : 'Start'}
        </button>
        <button type="button" disabled={busy} onClick={() => void preview()}>
          Show the plan
        </button>
      </div>
    </form>
  )
}

function bodyOf({ cron, timezone, name }: Scheduled, inputs: { readonly [name: string]: Json }): ScheduleBody {
  return {
    cron: cron.trim(),
    inputs,
    ...(timezone.trim() === '' ? {} : { timezone: timezone.trim() }),
    ...(name.trim() === '' ? {} : { name: name.trim() }),
  }
}

/** By the schema of the crew's inputs; the placeholders of its texts are texts. */
function inputFields({ inputs, inputSchema }: CrewView): Field[] {
  const declared = fieldsOf(inputSchema)
  const shape = { is: 'text', long: true } as const
  return inputs.map((name) => {
    const field = declared.find((one) => one.name === name)
    if (!field) return { name, title: name, description: undefined, required: false, shape }
    return { ...field, shape: field.shape.is === 'text' ? shape : field.shape }
  })
}
