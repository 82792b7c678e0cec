// The differences between two runs: facts, inputs, and the prompts, steps and outputs of each task.
import type { JSX } from 'preact'
import type { RunDiff, RunSide } from '../../../runs/diff/diff-runs.ts'
import type { TaskStatus } from '../../../journal/state/state.ts'
import type { TaskViewStatus } from '../../../runs/status.ts'
import type { TaskDiff } from '../../../runs/diff/task-diff.ts'
import { namesByGroup } from '../../../journal/paths.ts'
import { amount, dollars, plural, someNames } from '../../../text/words.ts'
import { Fact, Status } from '../parts/status.tsx'
import { Ago, RunTime } from '../parts/time.tsx'
import { Link, runPath, shortId } from '../routing/router.tsx'
import { JsonChanges, PromptChanges, StepChanges, TextChanges } from './changes.tsx'

/** A flow may have thousands of steps: how many differing ones are shown, and up to how many equal ones beside them. */
const mostShown = 100
const mostEqual = 20

type Diff = Omit<RunDiff, 'toString'>

export function DiffView({ diff }: { readonly diff: Diff }): JSX.Element {
  const { a, b, same, inputs, tasks, order } = diff
  const differing = tasks.filter((task) => task.differences.length > 0)
  const equal = tasks.filter((task) => task.differences.length === 0)
  const shown = equal.length > mostEqual ? differing : tasks
  return (
    <div class="diff">
      <div class="sides">
        <Side side={a} name="A" />
        <Side side={b} name="B" />
      </div>
      <p class="diff-sum">
        {same
          ? 'No relevant differences: the tasks have the same prompts, steps and outputs.'
          : `${differing.length} of ${plural(tasks.length, 'task')} ${differing.length === 1 ? 'differs' : 'differ'}${diff.first === undefined ? '' : `, starting with ${diff.first}`}.`}
      </p>
      {inputs.length > 0 && (
        <section class="panel diff-part">
          <h2>Inputs</h2>
          <JsonChanges changes={inputs} />
        </section>
      )}
      {order && (
        <section class="panel diff-part">
          <h2>Task order</h2>
          <p>A: {order.a.join(', ')}</p>
          <p>B: {order.b.join(', ')}</p>
        </section>
      )}
      {shown.slice(0, mostShown).map((task) => (
        <Task key={task.name} task={task} a={a} b={b} />
      ))}
      {shown.length > mostShown && (
        <p class="soft">{amount(shown.length - mostShown)} more differ; reprise diff prints all of them.</p>
      )}
      {shown.length < tasks.length && (
        <p class="soft">The same in both: {someNames(namesByGroup(equal.map(({ name }) => name)))}</p>
      )}
    </div>
  )
}

function Side({ side, name }: { readonly side: RunSide; readonly name: string }): JSX.Element {
  const { id, status, createdAt, durationMs, usage, cost, error } = side
  return (
    <section class="panel side-card" aria-label={`Run ${name}`}>
      <header>
        <span class="side-name">{name}</span>
        <Link to={runPath(id)} class="mono clip">
          {shortId(id)}
        </Link>
        <Status status={status} />
      </header>
      <dl class="facts">
        <Fact name="Created">
          <Ago at={createdAt} />
        </Fact>
        <Fact name="Time">
          <RunTime run={{ status, createdAt, updatedAt: new Date(Date.parse(createdAt) + durationMs).toISOString() }} />
        </Fact>
        <Fact name="Tokens">{amount(usage.input + usage.output)}</Fact>
        <Fact name="Cost">{dollars(cost)}</Fact>
      </dl>
      {error && <p class="problem">{error.message}</p>}
    </section>
  )
}

function Task({ task, a, b }: { readonly task: TaskDiff; readonly a: RunSide; readonly b: RunSide }): JSX.Element {
  const { name, differences, output, fields } = task
  const differs = differences.length > 0
  return (
    <details class="panel diff-part" open={differs}>
      <summary>
        <h2>{name}</h2>
        {differs ? (
          differences.map((difference) => (
            <span key={difference} class="status tone-asks">
              {difference}
            </span>
          ))
        ) : (
          <span class="faint">same</span>
        )}
        <span class="faint diff-links">
          {describeSide(task.a, a)} → {describeSide(task.b, b)}
        </span>
      </summary>
      {fields.length > 0 && <p class="soft">{fields.join('; ')}</p>}
      {output && (
        <section>
          <h3>Output</h3>
          {output.changes && output.changes.length > 0 ? (
            <JsonChanges changes={output.changes} />
          ) : (
            <TextChanges diff={output.text} />
          )}
        </section>
      )}
      {task.definition.description && (
        <section>
          <h3>Description</h3>
          <TextChanges diff={task.definition.description} />
        </section>
      )}
      <PromptChanges prompt={task.prompt} />
      <StepChanges steps={task.steps} />
      <p class="diff-open">
        {task.a && <Link to={runPath(a.id, name)}>Open in A</Link>}{' '}
        {task.b && <Link to={runPath(b.id, name)}>Open in B</Link>}
      </p>
    </details>
  )
}

function describeSide(side: TaskDiff['a'], run: RunSide): string {
  if (!side) return 'no such task'
  const words = side.source ?? taskStatus(side.status, run)
  return side.usage.calls > 0 && side.source !== 'inherited'
    ? `${words}, ${amount(side.usage.input + side.usage.output)} tokens`
    : words
}

/** The view status of a task, as the page of its run shows it. */
function taskStatus(status: TaskStatus, run: RunSide): TaskViewStatus {
  if (status === 'completed') return 'executed'
  if (status !== 'running') return status
  return run.status === 'running' || run.status === 'waiting' ? run.status : 'started'
}
