// The details of a task: its description, output, cost, messages and actions.
import type { JSX } from 'preact'
import { amount, dollars, longTime, preciseDuration, plural } from '../../../text/words.ts'
import type { RunDetail, TaskDetail } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { Markdown } from '../parts/markdown.tsx'
import { OutputView, ValueView } from '../parts/output-view.tsx'
import { Status } from '../parts/status.tsx'
import { crewPath, Link, Links, navigate, runPath, withQuery } from '../routing/router.tsx'
import type { LiveRun } from './live-run.ts'
import { Messages } from './messages.tsx'
import { Foldable, Loading } from '../parts/states.tsx'

interface TaskPanelProps {
  readonly run: LiveRun
  readonly detail: RunDetail
  readonly name: string
  readonly attempt: string | undefined
}

export function TaskPanel({ run, detail, name, attempt }: TaskPanelProps): JSX.Element {
  const listed = detail.tasks.find((each) => each.name === name)
  const whole = useResource(
    detail.flow ? `task ${name}` : `task ${name} ${listed?.status} ${detail.seq}`,
    (signal) => call('GET /runs/{run}/tasks/{task}', { params: { run: detail.runId, task: name }, signal }),
    { live: detail.flow },
  )
  // the detail of a flow has no steps
  const task = detail.flow ? whole.value : listed
  if (!task && detail.flow && whole.error === undefined) return <Loading what={name} />
  if (!task) return <p class="soft">The run has no task {name}.</p>
  const span = run.timeline.value?.attempts.find(({ path }) => path === attempt)
  const { usage } = task
  return (
    <div class="detail-body">
      <header>
        <h2>{name}</h2>
        <Status status={task.status} />
      </header>
      <p class="soft facts-line">
        {[
          task.agent,
          usage.calls > 0 && `${amount(usage.input + usage.output)} tokens in ${plural(usage.calls, 'call')}`,
          task.cost !== undefined && usage.calls > 0 && dollars(task.cost),
          task.startedAt !== undefined &&
            task.completedAt !== undefined &&
            preciseDuration(Date.parse(task.completedAt) - Date.parse(task.startedAt)),
        ]
          .filter(Boolean)
          .join(' · ')}
      </p>
      {detail.can.includes('fork') && (
        <div class="detail-acts">
          <button type="button" onClick={() => navigate(withQuery({ action: 'replay', from: name }))}>
            Replay from here
          </button>
          {task.raw !== '' && (
            <button type="button" onClick={() => navigate(withQuery({ action: 'fork', edit: name }))}>
              Edit output
            </button>
          )}
          {task.raw !== '' && whole.value?.step?.wait === undefined && (
            <button type="button" onClick={() => navigate(backtestPath(detail, name))}>
              Backtest
            </button>
          )}
        </div>
      )}
      {task.child !== undefined && (
        <p>
          Nested crew: <Link to={runPath(task.child)}>child run</Link>
        </p>
      )}
      {task.from !== undefined && (
        <p>
          Inherited from run <Link to={runPath(task.from, name)}>{task.from}</Link>.
        </p>
      )}
      {task.stale !== undefined && task.stale.length > 0 && (
        <p class="problem">Inherited although stale: {task.stale.join('; ')}.</p>
      )}
      {detail.stale
        .filter((stale) => stale.task === name)
        .map((stale) => (
          <p key={stale.task} class="note">
            Stale: {stale.reasons.join('; ')}.
          </p>
        ))}
      {task.error && <ErrorBox message={task.error.message} stack={task.error.stack} />}
      {span && span.because.length > 0 && <p class="note">This attempt: {span.because.join('; ')}.</p>}
      <StreamedText run={run} task={name} />
      {task.raw !== '' && (
        <section>
          <h3>Output</h3>
          <OutputView raw={task.raw} />
        </section>
      )}
      {task.step && <StepFacts task={task} />}
      {!task.step && (
        <section>
          <h3>Description</h3>
          <Markdown text={task.description} />
          {task.expectedOutput !== undefined && <p class="soft">Expected: {task.expectedOutput}</p>}
          {task.context !== undefined && task.context.length > 0 && (
            <p class="soft">
              Receives the outputs of <Links names={task.context} to={(from) => withQuery({ at: from })} replace />
            </p>
          )}
        </section>
      )}
      {whole.value && whole.value.messages.length > 0 && (
        <Foldable title={`Full conversation (${plural(whole.value.messages.length, 'message')})`}>
          <Messages messages={whole.value.messages} />
        </Foldable>
      )}
      {task.sources.length > 0 && (
        <section>
          <h3>Sources</h3>
          <ul class="sources">
            {task.sources.map((source) => (
              <li key={source.id}>
                {source.title ?? source.filename ?? ''} <span class="faint">{source.url}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  )
}

/** What is known of a step of a flow besides its output. */
function StepFacts({ task }: { readonly task: TaskDetail }): JSX.Element | null {
  const { name, step, child, attempts } = task
  if (!step) return null
  const { after, input, wait, until } = step
  const isCall = wait === undefined && child === undefined && attempts > 0
  return (
    <section>
      {after !== undefined && (
        <p class="soft">
          Requested after <Link to={withQuery({ at: after })}>{after}</Link>
        </p>
      )}
      {until !== undefined && task.completedAt === undefined && (
        <p class="soft">
          {wait === 'sleep' ? 'Sleeps' : 'Waits'} until {longTime(until)}
        </p>
      )}
      {input !== undefined && (
        <>
          <h3>Input</h3>
          <ValueView value={input} />
        </>
      )}
      {isCall && (
        <p>
          <Link to={withQuery({ at: `${name}#${attempts}/1.0` })}>Call of its function</Link>
        </p>
      )}
    </section>
  )
}

function StreamedText({ run, task }: { readonly run: LiveRun; readonly task: string }): JSX.Element | null {
  const own = [...run.streamed.value].filter(([path]) => path.startsWith(`${task}#`))
  if (own.length === 0) return null
  return (
    <section aria-live="off">
      <h3>Now</h3>
      {own.map(([path, { text, reasoning }]) => (
        <div key={path} class="streamed">
          {text === '' && reasoning !== '' && <p class="faint">{reasoning.slice(-600)}</p>}
          <Markdown text={text} />
        </div>
      ))}
    </section>
  )
}

interface ErrorBoxProps {
  readonly message: string
  readonly stack?: string | undefined
}

export function ErrorBox({ message, stack }: ErrorBoxProps): JSX.Element {
  return (
    <div class="error-box">
      <p>{message}</p>
      {stack !== undefined && stack !== '' && (
        <details>
          <summary>Stack trace</summary>
          <pre>{stack}</pre>
        </details>
      )}
    </div>
  )
}

/** The path of the backtest dialog for the task, with this run selected. */
function backtestPath({ crew, runId }: RunDetail, task: string): string {
  return `${crewPath(crew)}?${new URLSearchParams({ task, backtest: task, run: runId })}`
}
