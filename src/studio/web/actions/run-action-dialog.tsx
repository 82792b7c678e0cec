// Resumes, replays, forks or refreshes a run. The plan follows every change of the form, and nothing is spent before
// the user confirms it.
import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { OrphanedTask } from '../../../journal/entries.ts'
import type { ForkBody, PlanBody, RunDetail, StartedRun } from '../../api/contract.ts'
import { changes } from '../api/listen.ts'
import { call } from '../api/client.ts'
import { signed } from '../api/studio-session.ts'
import { useAction, useFormResult, useResource } from '../api/resource.ts'
import { SelectField, TextField } from '../form/value-field.tsx'
import { Dialog, DialogEnd } from '../parts/dialog.tsx'
import { notify } from '../parts/notices.tsx'
import { errorText } from '../parts/states.tsx'
import { navigate, currentLocation, runPath } from '../routing/router.tsx'
import { decisionFields, OrphanDecisions, type Decisions } from './orphan-decisions.tsx'
import { PlanTable } from './plan-table.tsx'
import { Edits, type RunEdits } from './edits.tsx'

export type DialogAction = 'resume' | 'replay' | 'fork' | 'refresh'

interface RunActionProps {
  readonly action: DialogAction
  readonly detail: RunDetail
  onClose(): void
  refresh(): void
}

const titles: { readonly [action in DialogAction]: string } = {
  resume: 'Resume this run',
  replay: 'Replay',
  fork: 'Fork with changes',
  refresh: 'Refresh',
}
const descriptions: { readonly [action in DialogAction]: string } = {
  resume: 'Continues this run after its last recorded step.',
  replay:
    'Starts a new run that executes the chosen task and all later ones, and inherits the outputs of the tasks before.',
  fork: 'Starts a new run with your changes, and executes only what depends on them.',
  refresh: 'Starts a new run that executes only the tasks whose code or inputs have changed.',
}
const flowDescriptions: typeof descriptions = {
  ...descriptions,
  replay: 'Starts a new run that executes this step and all steps requested after it, and inherits all other results.',
  refresh: 'Starts a new run that executes only the steps whose code or inputs have changed.',
}

export function RunActionDialog({ action, detail, onClose, refresh }: RunActionProps): JSX.Element {
  const { query } = currentLocation.value
  const [from, setFrom] = useState(query.get('from') ?? detail.tasks.at(-1)?.name ?? '')
  const [edited, setEdited] = useState<RunEdits>({ inputs: {}, outputs: {}, effects: 'reuse' })
  const [decisions, setDecisions] = useState<Decisions>({})
  const isUnnamed = action === 'replay' && from === ''
  const body = action === 'resume' ? resumeBody(decisions) : planBody(action, from, edited)
  const {
    value: plan,
    problem,
    busy,
  } = useFormResult(`${detail.runId} ${JSON.stringify(body)}`, async (signal) =>
    isUnnamed ? undefined : call('POST /runs/{run}/plan', { params: { run: detail.runId }, body, signal }),
  )
  // the plan leaves out tasks that are already decided, but the form still shows them
  const orphaned = useRef(new Map<string, OrphanedTask>())
  for (const orphan of [...detail.orphaned, ...(plan?.orphaned ?? [])]) orphaned.current.set(orphan.task, orphan)
  const decides = action === 'resume' && orphaned.current.size > 0
  const { busy: starting, problem: failure, attempt } = useAction()
  const editedTask = query.get('edit') ?? undefined
  // the detail of a flow has no steps
  const step = useResource(
    `step ${editedTask}`,
    async (signal) =>
      detail.flow && editedTask !== undefined
        ? call('GET /runs/{run}/tasks/{task}', { params: { run: detail.runId, task: editedTask }, signal })
        : undefined,
    { live: false },
  )
  const isUnchanged =
    action === 'fork' && Object.keys(edited.inputs).length === 0 && Object.keys(edited.outputs).length === 0

  const start = (): Promise<void> =>
    attempt(async () => {
      const { runId } = await startAction(detail.runId, body)
      notify(action === 'resume' ? 'Run resumed.' : 'New run started.')
      changes.value++
      if (runId !== detail.runId) return navigate(runPath(runId))
      onClose()
      refresh()
    })
  return (
    <Dialog title={titles[action]} onClose={onClose} wide>
      <p class="soft">{(detail.flow ? flowDescriptions : descriptions)[action]}</p>
      <div class={action === 'resume' && !decides ? 'action-form is-plain' : 'action-form'}>
        {decides && (
          <OrphanDecisions
            detail={detail}
            orphaned={[...orphaned.current.values()]}
            decisions={decisions}
            onChange={setDecisions}
          />
        )}
        {action !== 'resume' && (
          <div class="form">
            {action === 'replay' && <StartField detail={detail} from={from} onChange={setFrom} />}
            <Edits
              detail={detail}
              tasks={step.value ? [step.value] : detail.tasks}
              edited={edited}
              onChange={setEdited}
              outputs={action === 'fork'}
              first={editedTask}
            />
          </div>
        )}
        <section class="plan" aria-label="Plan" aria-busy={busy}>
          <h3>What will happen</h3>
          {isUnnamed ? (
            <p class="soft">Name a step to see the plan.</p>
          ) : isUnchanged ? (
            <p class="soft">
              {detail.flow && editedTask === undefined
                ? 'Change an input to see the plan. To change a result, open its step.'
                : 'Change an input or an output to see the plan.'}
            </p>
          ) : problem === undefined ? (
            plan ? (
              <PlanTable plan={plan} />
            ) : (
              <p class="soft">Planning …</p>
            )
          ) : (
            <p class="problem" role="alert">
              {errorText(problem)}
            </p>
          )}
        </section>
      </div>
      <DialogEnd problem={failure} onClose={onClose}>
        <button
          type="button"
          class="primary"
          disabled={
            !plan ||
            busy ||
            starting ||
            isUnchanged ||
            problem !== undefined ||
            (action === 'resume' && plan.orphaned.length > 0)
          }
          onClick={() => void start()}
        >
          {starting ? 'Starting …' : action === 'resume' ? 'Resume' : 'Start new run'}
        </button>
      </DialogEnd>
    </Dialog>
  )
}

interface StartFieldProps {
  readonly detail: RunDetail
  readonly from: string
  onChange(from: string): void
}

function StartField({ detail: { tasks, steps }, from, onChange }: StartFieldProps): JSX.Element {
  if (!steps)
    return (
      <SelectField
        label="From task"
        value={from}
        options={tasks.map(({ name }) => [name] as const)}
        onChange={onChange}
      />
    )
  const names = steps.groups.items.map(({ name, single }) => (single ? name : `${name}[`))
  return (
    <>
      <TextField label="From step" hint="a name, or name[key]" value={from} list="steps" onInput={onChange} />
      <datalist id="steps">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  )
}

function resumeBody(decisions: Decisions): PlanBody {
  return { of: 'resume', ...decisionFields(decisions), ...signed() }
}

function planBody(
  action: Exclude<DialogAction, 'resume'>,
  task: string,
  { inputs, outputs, effects }: RunEdits,
): PlanBody {
  const changed = {
    ...(Object.keys(inputs).length === 0 ? {} : { inputs }),
    ...(effects === 'reuse' ? {} : { effects }),
  }
  switch (action) {
    case 'replay':
      return { of: 'replay', task, ...changed }
    case 'fork': {
      const body: ForkBody = { ...changed, ...(Object.keys(outputs).length === 0 ? {} : { outputs, ...signed() }) }
      return { of: 'fork', ...body }
    }
    case 'refresh':
      return { of: 'refresh', ...changed }
  }
}

function startAction(run: string, { of, ...body }: PlanBody): Promise<StartedRun> {
  return call(`POST /runs/{run}/${of}`, { params: { run }, body })
}
