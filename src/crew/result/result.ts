// Results of runs, computed from the journal alone, so that a finished run and a stored one have the same result.
import type { CrewDefinition, TaskDefinition, Engine, World } from '../../engine/definition.ts'
import { type StaleTask, staleTasks } from '../../engine/plan/inheritance.ts'
import { RepriseError, errorCodes, type ErrorCode } from '../../base/errors.ts'
import type { TaskFailure, Usage, Question } from '../../journal/entries.ts'
import { taskFailures } from '../../journal/state/tally.ts'
import type { OpenQuestion } from '../../journal/state/open-questions.ts'
import { addUsage, noUsage, type RunState, type TaskState, isEnded } from '../../journal/state/state.ts'
import { describe, nearest } from '../../base/options.ts'
import {
  planOutcomes,
  lastOutput,
  taskView,
  taskViews,
  type PlannedOutcome,
  type TaskView,
} from '../../runs/task-view.ts'
import type { Task } from '../task.ts'
import { answerStep } from '../../read/questions.ts'
import { suggestDecision } from '../../journal/describe.ts'
import { parentRunId, rootRunId } from '../../journal/paths.ts'
import { nextWords, type NextStep } from '../../base/next.ts'
import { describeStop } from '../../runs/status.ts'
import { viewRun as viewOfRun, type RunView as RunData, toRunTree, type RunTree } from '../../runs/run-view.ts'
import { checkFormat, readRun, runNotFoundError } from '../../read/read-run.ts'
import { runCancelledError } from '../../engine/inbox/inbox.ts'
import { runExecutor } from '../../engine/lease/leased-tree.ts'
import { readSummary } from '../../read/row-summary.ts'
import type { RunRow, Store } from '../../stores/store.ts'

// The default of `Crew` and `Run` is `readonly Task[]`: declarations of users could not name this alias.
export type Tasks = readonly Task[]
type OutputOf<T> = T extends { readonly '~output'?: () => infer Output } ? Output : unknown

/** Output of a crew: that of its last task that wasn't skipped; undefined if all tasks may be skipped. */
export type OutputOfLast<T extends Tasks> = T extends readonly [...infer Before extends Tasks, infer Last]
  ? undefined extends OutputOf<Last>
    ? Before extends readonly []
      ? OutputOf<Last>
      : Exclude<OutputOf<Last>, undefined> | OutputOfLast<Before>
    : OutputOf<Last>
  : OutputOf<T[number]>

/**
 * Context outputs by task name, as functions receive them. If the context isn't a literal list, any of them may be
 * missing.
 */
export type OutputsOf<Context extends Tasks> = Context extends Tasks
  ? number extends Context['length']
    ? { readonly [T in Context[number] as T['name']]?: OutputOf<T> }
    : { readonly [T in Context[number] as T['name']]: OutputOf<T> }
  : never

interface ResultBase<T extends Tasks> {
  readonly runId: string
  readonly raw: string
  /** In crew order. */
  readonly tasks: { readonly [K in keyof T]: TaskView<OutputOf<T[K]>> }
  /** Looks up a task. Throws TASK_NOT_FOUND, which names the tasks that exist. */
  task<const Given extends Task | string>(task: KnownReference<T, Given>): TaskView<OutputBy<T, Given>>
  /** Tokens spent by this run, and tokens that its inherited outputs had cost. */
  readonly usage: { readonly spent: Usage; readonly inherited: Usage }
  /** Failed tasks without which the run continued; tasks of nested crews as `settle/payout`. */
  readonly failures: readonly TaskFailure[]
  /** Outputs that were kept although they are outdated. */
  readonly stale: readonly StaleTask[]
  /** For a fork: the plan for each task, and its outcome. */
  readonly plan: readonly PlannedOutcome[] | undefined
  /** Open questions; those of a nested crew with its name: `research/q1`. */
  readonly questions: readonly OpenQuestion[]
  /** Completed: the text of the output. Suspended: a sentence with the reason and the next call. */
  toString(): string
}

export type CompletedResult<T extends Tasks = readonly Task[]> = ResultBase<T> & {
  readonly status: 'completed'
  readonly output: OutputOfLast<T>
}
type SuspendedResult<T extends Tasks = readonly Task[]> = ResultBase<T> & {
  readonly status: 'suspended'
  readonly output: undefined
} & Suspension
export type RunResult<T extends Tasks = readonly Task[]> = CompletedResult<T> | SuspendedResult<T>

export async function toResult<T extends Tasks>(
  state: RunState,
  crew: CrewDefinition,
  stale: readonly StaleTask[],
  questions: readonly OpenQuestion[] = [],
): Promise<RunResult<T>> {
  const tasks = await taskViews({ state, questions, held: true }, crew)
  const last = lastOutput(tasks)
  const completed = state.status === 'completed'
  const suspension = completed ? undefined : readSuspension(state, questions)
  const kept = tasks.filter((task) => task.status === 'inherited')
  const result = {
    runId: state.run,
    status: completed ? 'completed' : 'suspended',
    raw: completed ? (last?.raw ?? '') : '',
    output: completed ? last?.output : undefined,
    tasks,
    task: (reference: Task | string) => findTask(tasks, reference, `run ${state.run}`),
    usage: { spent: { ...state.spent }, inherited: kept.reduce((sum, task) => addUsage(sum, task.usage), noUsage) },
    failures: taskFailures(state),
    stale,
    plan: await planOutcomes(state, crew.prices),
    questions,
    ...suspension,
    toString: () => (suspension ? describeSuspension(state.run, suspension, questions) : (last?.raw ?? '')),
  }
  // console.log(result) prints String(result), like CrewAI's print(result); not enumerable, so that it isn't data
  Object.defineProperty(result, Symbol.for('nodejs.util.inspect.custom'), { value: () => result.toString() })
  return result as unknown as RunResult<T>
}

/** Output of a task that this process just completed. */
export function taskOutput(state: RunState, task: TaskState, code: TaskDefinition): Promise<TaskView> {
  return taskView({ state, questions: [], held: true }, task, code)
}

/** Finds a task by object, name or id. TASK_NOT_FOUND names the tasks that exist. */
export function findTask<T extends { readonly name: string; readonly id: string; readonly child?: unknown }>(
  tasks: readonly T[],
  reference: Task | string,
  where: string,
): T {
  const wanted: unknown = typeof reference === 'string' ? reference : (reference as Partial<Task> | undefined)?.name
  if (typeof wanted !== 'string') {
    throw new RepriseError('TASK_NOT_FOUND', `the task is ${describe(reference)}; give a task, its name or its id`)
  }
  const found = tasks.find((task) => task.name === wanted) ?? tasks.find((task) => task.id === wanted)
  if (found) return found
  const near = nearest(
    wanted,
    tasks.map((task) => task.name),
  )
  const meant = nestedTaskWords(tasks, wanted) ?? (near === undefined ? '' : `; did you mean ${near}?`)
  const there = tasks.map((task) => `${task.name} (${task.id})`).join(', ')
  throw new RepriseError('TASK_NOT_FOUND', `${where} has no task ${describe(wanted)}${meant}; it has ${there}`)
}

/** For `research/facts`, as questions and lists name a task of a nested crew. */
function nestedTaskWords(
  tasks: readonly { readonly name: string; readonly child?: unknown }[],
  wanted: string,
): string | undefined {
  const task = tasks.find(({ name, child }) => child !== undefined && wanted.startsWith(`${name}/`))
  if (!task) return undefined
  const run = typeof task.child === 'string' ? `child run ${task.child}` : `a child run, such as <run>/${task.name}#1`
  return `; name task ${wanted.slice(task.name.length + 1)} of ${run}`
}

/** Finds the definition of a task of the crew. TASK_NOT_FOUND names the tasks that exist. */
export function findDefinition(crew: CrewDefinition, task: Task | string): TaskDefinition {
  return findTask(crew.tasks, task, `crew ${crew.name}`)
}

interface Suspension {
  /** The reason, in one sentence without advice. */
  readonly facts: string
  /** Next step: answer the first open question; without one, resume the run, or its root. */
  readonly next: NextStep
}

/** `questions`: open questions, including those of nested crews. */
function readSuspension(state: RunState, questions: readonly Question[]): Suspension {
  const { run, suspended, woken, imported } = state
  const [first] = questions
  const waits = ['questions', 'limit', 'child'].includes(suspended?.reason ?? '')
  if (waits && first) {
    const asked = questions.map(({ id, text }) => `${id}: ${text}`).join(' and ')
    return { facts: `Run ${run} waits for an answer to ${asked}`, next: answerStep(run, first) }
  }
  if (suspended?.reason === 'tasks-changed')
    return {
      facts: `Run ${run} ${describeStop({ runId: run, suspended })}`,
      next: parentRunId(run)
        ? { type: 'resume', runId: rootRunId(run) }
        : suggestDecision(run, suspended.orphaned ?? []),
    }
  if (suspended?.reason === 'moved')
    return { facts: `Run ${run} ${describeStop({ runId: run, suspended })}`, next: { type: 'requeue', runId: run } }
  const runId = suspended?.reason === 'parent' ? rootRunId(run) : run
  return {
    facts: `Run ${run} ${describeStop({ runId: run, suspended, woken, imported })}`,
    next: { type: 'resume', runId },
  }
}

/** In terms of the library: a call for each open question, then a call that resumes the run. */
function describeSuspension(runId: string, { facts, next }: Suspension, questions: readonly Question[]): string {
  if (next.type === 'resume' || next.type === 'requeue') return `${facts}; ${nextWords(next)}`
  const answers = questions.map((question) => nextWords(answerStep(runId, question)))
  return `${facts} (${[...answers, nextWords({ type: 'resume', runId })].join(', then ')})`
}

export interface RunView<T extends Tasks = readonly Task[]> extends RunData {
  /** Looks up a task. Throws TASK_NOT_FOUND, which names the tasks that exist. */
  task<const Given extends Task | string>(task: KnownReference<T, Given>): TaskView<OutputBy<T, Given>>
}

/** RUN_NOT_FOUND. */
export async function viewRun(engine: Engine, run: string, crew: CrewDefinition): Promise<RunView> {
  const view = await viewOfRun(engine, run, crew)
  const task = (reference: Task | string): unknown => findTask(view.tasks, reference, `run ${run}`)
  return { ...view, task: task as RunView['task'] }
}

/**
 * A task, its name or its id. If all names of a crew are known, a misspelled one doesn't compile. A text known only at
 * run time is accepted, and looked up then: TASK_NOT_FOUND names the tasks that exist.
 */
export type TaskReference<Name extends string = string> = Task<Name> | Name | TaskId

/** A UUID, version 8: the form of task ids, and hardly a name. */
type TaskId = `${string}-${string}-8${string}-${string}-${string}`

/** References to these tasks; `Given` are the string arguments. */
export type ReferenceTo<T extends Tasks, Given extends string> = string extends Given
  ? Given | Task<T[number]['name']>
  : TaskReference<T[number]['name']>

/** The same, for methods whose return type depends on the argument. */
export type KnownReference<T extends Tasks, Given extends Task | string> = string extends Given
  ? Given
  : TaskReference<T[number]['name']>

/** Output type of the referenced task; unknown if the compiler can't tell. */
export type OutputBy<T extends Tasks, Given> = OutputOf<FoundBy<T, Given>>

/** Type of a replacement output: the value before the schema's transforms. */
export type RawBy<T extends Tasks, Given> = RawOf<FoundBy<T, Given>>
export type RawOf<T> = T extends { readonly '~raw'?: infer Raw } ? Raw : unknown

type FoundBy<T extends Tasks, Given> = Given extends Task
  ? Given
  : Extract<T[number], { readonly name: Given }> extends infer Found
    ? [Found] extends [never]
      ? Task
      : Found
    : never

// Results read from outside: from the journal of a run that has ended, or by waiting for the process that executes it.

/** The result of a completed or suspended run. */
export async function storedResultOf(crew: CrewDefinition, { state, questions }: RunTree): Promise<RunResult> {
  return toResult(state, crew, staleTasks(crew, state), questions)
}

/**
 * Waits while a process executes the run, or a worker will. Rejects with the failure of the run, RUN_CANCELLED, or
 * RUN_ABANDONED if no process executes it.
 */
export async function waitForResult(engine: Engine, crew: CrewDefinition, run: string): Promise<RunResult> {
  const row = await engine.store.row(run)
  // a run of another format would be waited for forever
  if (row) checkFormat(row)
  await waitUntilAtRest(engine, run)
  const { state } = await readRun(engine.store, run)
  switch (state.status) {
    case 'completed':
    case 'suspended':
      return storedResultOf(crew, await toRunTree(engine.store, state))
    case 'cancelled':
      throw runCancelledError(run)
    case 'failed':
      throw recordedFailure(state)
    default:
      throw runAbandoned(run)
  }
}

/** The recorded error of a failed run. */
export function recordedFailure({ run, error }: RunState): RepriseError {
  const { code = '', message = 'the reason of the failure is unknown', task } = error ?? {}
  // newer code may have other codes
  const known = Object.hasOwn(errorCodes, code) ? (code as ErrorCode) : 'TASK_FAILED'
  const tasks = task === undefined ? undefined : [task]
  return new RepriseError(known, message, { runId: run, tasks, next: { type: 'resume', runId: run } })
}

function runAbandoned(run: string): RepriseError {
  const words = `run ${run} has not ended, and no process executes it`
  return new RepriseError('RUN_ABANDONED', words, { runId: run, next: { type: 'resume', runId: run } })
}

/** How often to check that the executing process is alive: a killed process sends no hint. */
const pollIntervalMs = 1_000

/**
 * Calls `look` whenever the run may have changed, until it returns a value. RUN_NOT_FOUND. Rejects with the signal's
 * reason on abort.
 */
export async function waitForRun<Said>(
  { store, world }: { readonly store: Store; readonly world: Pick<World, 'sleep'> },
  run: string,
  look: (row: RunRow) => Promise<Said | undefined>,
  signal?: AbortSignal,
): Promise<Said> {
  const watching = new AbortController()
  // watch before the first look, so that no change is missed
  const hints = store.watch(run, watching.signal)[Symbol.asyncIterator]()
  let hint = hints.next()
  try {
    for (;;) {
      signal?.throwIfAborted()
      const row = await store.row(run)
      if (!row) throw runNotFoundError(store, run)
      const said = await look(row)
      if (said !== undefined) return said
      const silence = new AbortController()
      const silent = world.sleep(pollIntervalMs, signal ? AbortSignal.any([silence.signal, signal]) : silence.signal)
      silent.catch(() => undefined)
      const heard = await Promise.race([hint, silent])
      silence.abort()
      // a closed store sends no more hints
      if (heard) hint = heard.done ? new Promise<never>(() => undefined) : hints.next()
    }
  } finally {
    hint.catch(() => undefined)
    watching.abort()
  }
}

/**
 * Resolves when the run has ended or is suspended, has failed without a retry to come, or was left by its process.
 * RUN_NOT_FOUND.
 */
async function waitUntilAtRest(engine: Engine, run: string): Promise<void> {
  await waitForRun(engine, run, async (row) => {
    const waits = isForWorker(row) || (row.status === 'running' && (await runExecutor(engine, run)))
    return waits ? undefined : true
  })
}

/** Whether workers will start, retry or continue the run. */
function isForWorker(row: RunRow): boolean {
  const { imported, dueAt, forWorkers } = readSummary(row)
  // workers don't execute imported runs
  if (imported) return false
  if (row.status === 'running') return forWorkers === true
  return row.status === 'queued' || (row.status === 'failed' && dueAt !== undefined)
}

/**
 * Waits for the process that holds the run. `rest`: it executed the run since `state` was read, and that outcome is the
 * result. `left`: it died, or only recorded an answer, so that another process may continue.
 */
export function waitForHolder(engine: Engine, state: RunState, signal?: AbortSignal): Promise<'rest' | 'left'> {
  return waitForRun(
    engine,
    state.run,
    async (row) => {
      const executed = state.status === 'running' || readSummary(row).lives > state.lives
      const rests = row.status === 'suspended' || row.status === 'failed'
      if (isEnded(row.status) || (rests && executed)) return 'rest'
      return (await runExecutor(engine, state.run)) ? undefined : 'left'
    },
    signal,
  )
}
