// Taking a run from where it stands: resume, replay from a task, fork with other inputs or outputs, refresh what is
// stale. The plan is made anew with every change, and nothing is spent before somebody has seen it.
import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { OrphanedTask } from '../../../journal/entries.ts'
import type { ForkBody, PlanBody, RunDetail, StartedRun } from '../../api/contract.ts'
import { changes } from '../api/changes.ts'
import { call } from '../api/client.ts'
import { signature } from '../api/studio-session.ts'
import { useTypedAnswer } from '../api/typed-answer.ts'
import { Dialog } from '../parts/dialog.tsx'
import { notify } from '../parts/notices.tsx'
import { errorText } from '../parts/states.tsx'
import { navigate, currentLocation, runPath } from '../routing/router.ts'
import { decided, OrphanDecisions, type Decisions } from '../take/orphan-decisions.tsx'
import { PlanTable } from './plan-table.tsx'
import { Edits, type RunEdits } from './edits.tsx'

export type DialogAction = 'resume' | 'replay' | 'fork' | 'refresh'

interface RunActionProps {
  readonly take: DialogAction
  readonly detail: RunDetail
  onClose(): void
  refresh(): void
}

const titles: { readonly [take in DialogAction]: string } = {
  resume: 'Resume this run',
  replay: 'Replay from a task',
  fork: 'Fork with changes',
  refresh: 'Refresh what is stale',
}
const means: { readonly [take in DialogAction]: string } = {
  resume: 'The same run continues after its last recorded step.',
  replay: 'A new run: what comes before the task is inherited, the task and all after it are executed.',
  fork: 'A new run with your changes: only what depends on them is executed.',
  refresh: 'A new run: only what today’s code would make from something else is executed.',
}

export function RunActionDialog({ take, detail, onClose, refresh }: RunActionProps): JSX.Element {
  const { query } = currentLocation.value
  const [from, setFrom] = useState(query.get('from') ?? detail.tasks.at(-1)?.name ?? '')
  const [edited, setEdited] = useState<RunEdits>({ inputs: {}, outputs: {}, effects: 'reuse' })
  const [decisions, setDecisions] = useState<Decisions>({})
  const body = take === 'resume' ? resumeBody(decisions) : planBody(take, from, edited)
  const {
    value: plan,
    problem,
    busy,
  } = useTypedAnswer(`${detail.runId} ${JSON.stringify(body)}`, (signal) =>
    call('POST /runs/{run}/plan', { params: { run: detail.runId }, body, signal }),
  )
  // those with a decision are no longer in the plan
  const orphaned = useRef(new Map<string, OrphanedTask>())
  for (const orphan of [...detail.orphaned, ...(plan?.orphaned ?? [])]) orphaned.current.set(orphan.task, orphan)
  const decides = take === 'resume' && orphaned.current.size > 0
  const [starting, setStarting] = useState(false)
  const [failure, setFailure] = useState('')
  const first = query.get('edit')
  const nothing = take === 'fork' && Object.keys(edited.inputs).length === 0 && Object.keys(edited.outputs).length === 0

  const start = async (): Promise<void> => {
    setStarting(true)
    setFailure('')
    try {
      const { runId } = await startAction(detail.runId, body)
      notify(take === 'resume' ? 'The run continues.' : 'A new run has begun.')
      changes.value++
      if (runId !== detail.runId) return navigate(runPath(runId))
      onClose()
      refresh()
    } catch (error) {
      setFailure(errorText(error))
      setStarting(false)
    }
  }
  return (
    <Dialog title={titles[take]} onClose={onClose} wide>
      <p class="soft">{means[take]}</p>
      <div class={take === 'resume' && !decides ? 'take is-plain' : 'take'}>
        {decides && (
          <OrphanDecisions
            detail={detail}
            orphaned={[...orphaned.current.values()]}
            decisions={decisions}
            onChange={setDecisions}
          />
        )}
        {take !== 'resume' && (
          <div class="form">
            {take === 'replay' && (
              <div class="field">
                <label for="replay-from">From task</label>
                <select id="replay-from" value={from} onChange={(event) => setFrom(event.currentTarget.value)}>
                  {detail.tasks.map(({ name }) => (
                    <option key={name} value={name}>
                      {name}
                    </option>
                  ))}
                </select>
              </div>
            )}
            <Edits
              detail={detail}
              edited={edited}
              onChange={setEdited}
              outputs={take === 'fork'}
              first={first ?? undefined}
            />
          </div>
        )}
        <section class="plan" aria-label="Plan" aria-busy={busy}>
          <h3>What will happen</h3>
          {nothing ? (
            <p class="soft">Change an input or an output, and the plan is shown here.</p>
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
      {failure !== '' && (
        <p class="problem" role="alert">
          {failure}
        </p>
      )}
      <div class="dialog-end">
        <button type="button" onClick={onClose}>
          Not now
        </button>
        <button
          type="button"
          class="primary"
          disabled={
            !plan ||
            busy ||
            starting ||
            nothing ||
            problem !== undefined ||
            (take === 'resume' && plan.orphaned.length > 0)
          }
          onClick={() => void start()}
        >
          {starting ? 'Starting …' : take === 'resume' ? 'Resume' : 'Start the new run'}
        </button>
      </div>
    </Dialog>
  )
}

function signed(): { readonly by?: string } {
  const by = signature.peek()
  return by === '' ? {} : { by }
}

function resumeBody(decisions: Decisions): PlanBody {
  return { of: 'resume', ...decided(decisions), ...signed() }
}

function planBody(
  take: Exclude<DialogAction, 'resume'>,
  task: string,
  { inputs, outputs, effects }: RunEdits,
): PlanBody {
  const changed = {
    ...(Object.keys(inputs).length === 0 ? {} : { inputs }),
    ...(effects === 'reuse' ? {} : { effects }),
  }
  switch (take) {
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

function startAction(run: string, body: PlanBody): Promise<StartedRun> {
  const params = { run }
  switch (body.of) {
    case 'resume': {
      const { of: _, ...rest } = body
      return call('POST /runs/{run}/resume', { params, body: rest })
    }
    case 'replay': {
      const { of: _, ...rest } = body
      return call('POST /runs/{run}/replay', { params, body: rest })
    }
    case 'fork': {
      const { of: _, ...rest } = body
      return call('POST /runs/{run}/fork', { params, body: rest })
    }
    case 'refresh': {
      const { of: _, ...rest } = body
      return call('POST /runs/{run}/refresh', { params, body: rest })
    }
  }
}
