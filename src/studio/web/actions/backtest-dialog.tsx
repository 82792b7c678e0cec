// Starts or continues a backtest: a task of the current code, executed on the inputs of earlier runs. Before the start,
// the dialog shows a plan with the runs and the cost.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { amount, dollars, plural } from '../../../text/words.ts'
import type { BacktestBody, BacktestPlan } from '../../api/contract.ts'
import { changes } from '../api/listen.ts'
import { call } from '../api/client.ts'
import { useAction, useFormResult } from '../api/resource.ts'
import { SelectField } from '../form/value-field.tsx'
import { Dialog, DialogEnd } from '../parts/dialog.tsx'
import { Foldable, errorText } from '../parts/states.tsx'
import { navigate, shortId } from '../routing/router.tsx'
import { inputWords } from '../runs/run-row.tsx'

interface BacktestProps {
  readonly crew: string
  readonly tasks: readonly string[]
  /** The task that is selected at first. */
  readonly task: string
  /** The run whose page opened the dialog. */
  readonly run: string | undefined
  /** The backtest to continue. */
  readonly id: string | undefined
  /** The initial number of runs. */
  readonly count: number | undefined
  onClose(): void
}

const defaultCount = 20

export function BacktestDialog({
  crew,
  tasks,
  task: initialTask,
  run,
  id,
  count,
  onClose,
}: BacktestProps): JSX.Element {
  const [task, setTask] = useState(initialTask)
  const [last, setLast] = useState(count ?? defaultCount)
  const [isOnlyRun, setOnlyRun] = useState(run !== undefined)
  const { busy: starting, problem: failure, attempt } = useAction()
  const runs = isOnlyRun && run !== undefined ? [run] : last
  const body: BacktestBody = { task, runs, ...(id === undefined ? {} : { id }) }
  const {
    value: plan,
    problem,
    busy,
  } = useFormResult(JSON.stringify(body), (signal) =>
    call('POST /crews/{crew}/backtests/plan', { params: { crew }, body, signal }),
  )
  const start = (): Promise<void> =>
    attempt(async () => {
      const planned = plan?.cases.map(({ runId }) => runId) ?? []
      const backtest = await call('POST /crews/{crew}/backtests', {
        params: { crew },
        body: { ...body, runs: planned },
      })
      changes.value++
      navigate(`/compare?backtest=${encodeURIComponent(backtest.id)}`)
    })
  return (
    <Dialog title={id === undefined ? 'Backtest a task' : 'Continue a backtest'} onClose={onClose} wide>
      <p class="soft">
        Executes the task with the current code on the inputs of earlier runs. Those runs stay unchanged.
        {id !== undefined && ' Finished trials are not repeated.'}
      </p>
      <div class="action-form">
        <div class="form">
          <SelectField
            label="Task"
            value={task}
            options={tasks.map((name) => [name])}
            disabled={id !== undefined}
            onChange={setTask}
          />
          {run !== undefined && (
            <SelectField
              label="Run it on"
              value={isOnlyRun ? 'run' : 'last'}
              options={[
                ['run', `only run ${shortId(run)}`],
                ['last', 'the latest runs'],
              ]}
              onChange={(choice) => setOnlyRun(choice === 'run')}
            />
          )}
          {!isOnlyRun && (
            <div class="field">
              <label for="backtest-last">Number of runs</label>
              <input
                id="backtest-last"
                type="number"
                min={1}
                max={200}
                value={last}
                onInput={(event) => setLast(Number(event.currentTarget.value))}
              />
            </div>
          )}
        </div>
        <div class="plan" aria-live="polite" aria-busy={busy}>
          {plan && <Plan plan={plan} />}
          {problem !== undefined && <p class="problem">{errorText(problem)}</p>}
        </div>
      </div>
      <DialogEnd problem={failure} onClose={onClose}>
        <button
          type="button"
          class="primary"
          disabled={!plan || busy || starting || plan.execute === 0 || problem !== undefined}
          onClick={() => void start()}
        >
          {starting ? 'Starting …' : id === undefined ? 'Start backtest' : 'Continue backtest'}
        </button>
      </DialogEnd>
    </Dialog>
  )
}

function Plan({ plan }: { readonly plan: BacktestPlan }): JSX.Element {
  const { task, cases, passed, execute, withheld } = plan
  const changed = cases.some((each) => each.changes.length > 0)
  return (
    <>
      {cases.length === 0 ? (
        <p>No run has both an output of {task} and all inputs of the task.</p>
      ) : (
        <>
          <ol class="plan-tasks">
            {cases.map(({ runId, task: name, inputs, changes: since, done }) => (
              <li key={`${runId} ${name}`}>
                <span class={`status ${done ? 'tone-quiet' : 'tone-busy'}`}>{done ? 'done' : 'execute'}</span>
                <strong class="clip mono">{name === task ? shortId(runId) : `${shortId(runId)} ${name}`}</strong>
                <span class="soft plan-why clip">{since.length > 0 ? since.join('; ') : inputWords(inputs)}</span>
              </li>
            ))}
          </ol>
          <p class="plan-sum">
            <strong>
              {execute === 0 ? 'Nothing to execute.' : `${task} will be executed ${plural(execute, 'time')}.`}
            </strong>{' '}
            {execute > 0 && estimateWords(plan)}
          </p>
        </>
      )}
      {cases.length > 0 && !changed && (
        <p class="note">
          {task} hasn’t changed since these runs: any difference is due to the randomness of the model.
        </p>
      )}
      {withheld.length > 0 && execute > 0 && (
        <p class="hint">
          Tools with effects are not called: {withheld.join(', ')}. If a call was recorded with the same arguments, its
          result is used.
        </p>
      )}
      {passed.length > 0 && (
        <Foldable title={`${plural(passed.length, 'run')} skipped`}>
          <ul class="passed">
            {passed.map(({ runId, task: name = '', reason }) => (
              <li key={`${runId} ${name}`} class="soft">
                <span class="mono">{`${shortId(runId)} ${name}`.trim()}</span>: {reason}
              </li>
            ))}
          </ul>
        </Foldable>
      )}
    </>
  )
}

function estimateWords({ estimate, execute }: BacktestPlan): string {
  if (!estimate)
    return 'The cost is unknown: the task has never completed, or it started runs whose cost isn’t counted.'
  if (estimate.usage.calls === 0) return 'No model calls expected.'
  const tokens = amount((estimate.usage.input + estimate.usage.output) * execute)
  const cost = estimate.cost === undefined ? 'at an unknown price' : dollars(estimate.cost * execute)
  return `Expected: about ${tokens} tokens, ${cost}.`
}
