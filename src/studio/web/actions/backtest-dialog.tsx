// Trying a task, with the code as it is now, on what it was given in earlier runs: which runs those are and what it may
// cost is shown before anything is spent.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { amount, dollars, plural } from '../../../text/words.ts'
import type { BacktestBody, BacktestPlan } from '../../api/contract.ts'
import { changes } from '../api/changes.ts'
import { call } from '../api/client.ts'
import { useTypedAnswer } from '../api/typed-answer.ts'
import { Dialog } from '../parts/dialog.tsx'
import { errorText } from '../parts/states.tsx'
import { navigate } from '../routing/router.ts'
import { inputWords } from '../runs/run-row.tsx'
import { shortId } from '../waiting/short-id.ts'

interface BacktestProps {
  readonly crew: string
  readonly tasks: readonly string[]
  /** The one that is chosen at first. */
  readonly task: string
  /** The run that somebody came from. */
  readonly run: string | undefined
  /** Of a backtest that is continued. */
  readonly id: string | undefined
  /** How many runs at first. */
  readonly count: number | undefined
  onClose(): void
}

const usual = 20

export function BacktestDialog({ crew, tasks, task: first, run, id, count, onClose }: BacktestProps): JSX.Element {
  const [task, setTask] = useState(first)
  const [last, setLast] = useState(count ?? usual)
  const [alone, setAlone] = useState(run !== undefined)
  const [starting, setStarting] = useState(false)
  const [failure, setFailure] = useState('')
  const which = alone && run !== undefined ? { runs: [run] } : { last }
  const body: BacktestBody = { task, ...which, ...(id === undefined ? {} : { id }) }
  const {
    value: plan,
    problem,
    busy,
  } = useTypedAnswer(JSON.stringify(body), (signal) =>
    call('POST /crews/{crew}/backtests/plan', { params: { crew }, body, signal }),
  )
  const start = async (): Promise<void> => {
    if (!plan) return
    setStarting(true)
    setFailure('')
    try {
      const runs = plan.cases.map(({ runId }) => runId)
      const own = id === undefined ? {} : { id }
      const begun = await call('POST /crews/{crew}/backtests', { params: { crew }, body: { task, runs, ...own } })
      changes.value++
      navigate(`/compare?backtest=${encodeURIComponent(begun.id)}`)
    } catch (error) {
      setFailure(errorText(error))
      setStarting(false)
    }
  }
  return (
    <Dialog title={id === undefined ? 'Backtest a task' : 'Continue the backtest'} onClose={onClose} wide>
      <p class="soft">
        The task is executed with the code as it is now, on what it was given in earlier runs, which stay as they are.
        {id !== undefined && ' What was tried already is not paid again.'}
      </p>
      <div class="take">
        <div class="form">
          <div class="field">
            <label for="backtest-task">Task</label>
            <select
              id="backtest-task"
              value={task}
              disabled={id !== undefined}
              onChange={(event) => setTask(event.currentTarget.value)}
            >
              {tasks.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </div>
          {run !== undefined && (
            <div class="field">
              <label for="backtest-on">On</label>
              <select
                id="backtest-on"
                value={alone ? 'run' : 'last'}
                onChange={(event) => setAlone(event.currentTarget.value === 'run')}
              >
                <option value="run">run {shortId(run)} alone</option>
                <option value="last">the latest runs</option>
              </select>
            </div>
          )}
          {!alone && (
            <div class="field">
              <label for="backtest-last">How many of the latest runs</label>
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
      {failure !== '' && (
        <p class="problem" role="alert">
          {failure}
        </p>
      )}
      <div class="dialog-end">
        <button type="button" onClick={onClose}>
          Leave it
        </button>
        <button
          type="button"
          class="primary"
          disabled={!plan || busy || starting || plan.execute === 0 || problem !== undefined}
          onClick={() => void start()}
        >
          {starting ? 'Starting …' : id === undefined ? 'Start the backtest' : 'Continue it'}
        </button>
      </div>
    </Dialog>
  )
}

function Plan({ plan }: { readonly plan: BacktestPlan }): JSX.Element {
  const { task, cases, passed, execute, withheld } = plan
  const changed = cases.some((each) => each.changes.length > 0)
  return (
    <>
      {cases.length === 0 ? (
        <p>No run has an output of {task} and all that it is given.</p>
      ) : (
        <>
          <ol class="plan-tasks">
            {cases.map(({ runId, inputs, changes: since, done }) => (
              <li key={runId}>
                <span class={`status ${done ? 'tone-quiet' : 'tone-busy'}`}>{done ? 'done' : 'executed'}</span>
                <strong class="clip mono">{shortId(runId)}</strong>
                <span class="soft plan-why clip">{since.length > 0 ? since.join('; ') : inputWords(inputs)}</span>
              </li>
            ))}
          </ol>
          <p class="plan-sum">
            <strong>
              {execute === 0 ? 'Nothing is executed.' : `${task} is executed ${plural(execute, 'time')}.`}
            </strong>{' '}
            {execute > 0 && sumWords(plan)}
          </p>
        </>
      )}
      {cases.length > 0 && !changed && (
        <p class="note">
          Nothing that {task} is made from has changed since these runs: what differs will be the model’s whim.
        </p>
      )}
      {withheld.length > 0 && execute > 0 && (
        <p class="hint">
          Not called, since they may change something: {withheld.join(', ')}. Recorded results are used where the same
          is asked for.
        </p>
      )}
      {passed.length > 0 && (
        <details class="foldable">
          <summary>{plural(passed.length, 'run')} passed over</summary>
          <ul class="passed">
            {passed.map(({ runId, reason }) => (
              <li key={runId} class="soft">
                <span class="mono">{shortId(runId)}</span>: {reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}

function sumWords({ estimate, execute }: BacktestPlan): string {
  if (!estimate) return 'What that costs isn’t known: it was never completed, or began runs that are not counted.'
  if (estimate.usage.calls === 0) return 'It made no model calls before.'
  const tokens = amount((estimate.usage.input + estimate.usage.output) * execute)
  const cost = estimate.cost === undefined ? 'at a price that isn’t known' : dollars(estimate.cost * execute)
  return `Expected: about ${tokens} tokens, ${cost}.`
}
