// Results of runs, computed from the journal alone, so that a run has the same result when it ends and when it is read
// later. Also references to tasks, and waiting for a run that another process executes.
import type { CrewDefinition, TaskDefinition, Engine, World } from '../../engine/definition.ts'
import { type StaleTask, staleTasks } from '../../engine/plan/inheritance.ts'
import { RepriseError, errorCodes, type ErrorCode } from '../../base/errors.ts'
import type { TaskFailure, Usage, Question } from '../../journal/entries.ts'
import { taskFailures } from '../../journal/state/tally.ts'
import type { OpenQuestion } from '../../journal/state/open-questions.ts'
import { addUsage, noUsage, type RunState, type TaskState, isEnded } from '../../journal/state/state.ts'
import { describe, nearest } from '../../base/options.ts'
import {
  nestItems,
  planOutcomes,
  runOutput,
  taskView,
  taskViews,
  type PlannedOutcome,
  type TaskResult,
  type TaskView,
} from '../../runs/task-view.ts'
import type { Task } from '../task.ts'
import { answerStep } from '../../read/questions.ts'
import { suggestDecision } from '../../journal/describe.ts'
import { parentRunId, rootRunId } from '../../journal/paths.ts'
import { nextWords, type NextStep } from '../../base/next.ts'
import { namesByGroup } from '../../journal/paths.ts'
import { someNames } from '../../text/words.ts'
import { describeStop } from '../../runs/status.ts'
import { viewRun as viewOfRun, type RunView as RunData, toRunTree, type RunTree } from '../../runs/run-view.ts'
import { checkFormat, readRun, runNotFoundError } from '../../read/read-run.ts'
import { runCancelledError } from '../../engine/inbox/inbox.ts'
import { runExecutor } from '../../engine/lease/leased-tree.ts'
import { readSummary } from '../../read/row-summary.ts'
import type { RunRow, Store } from '../../stores/store.ts'

// not exported by the package, so declarations of users could not name it: `Crew` and `Run` write out `readonly Task[]`
export type Tasks = readonly Task[]
type OutputOf<T> = T extends { readonly '~output'?: () => infer Output } ? Output : unknown

/** Output of a crew: the output of its last task that was not skipped. Undefined if all tasks may be skipped. */
export type OutputOfLast<T extends Tasks> = T extends readonly [...infer Before extends Tasks, infer Last]
  ? undefined extends OutputOf<Last>
    ? Before extends readonly []
      ? OutputOf<Last>
      : Exclude<OutputOf<Last>, undefined> | OutputOfLast<Before>
    : OutputOf<Last>
  : OutputOf<T[number]>

/**
 * Outputs of context tasks by task name, as functions receive them. If the context is not a literal list, any of them
 * may be missing.
 */
export type OutputsOf<Context extends Tasks> = Context extends Tasks
  ? number extends Context['length']
    ? { readonly [T in Context[number] as T['name']]?: OutputOf<T> }
    : { readonly [T in Context[number] as T['name']]: OutputOf<T> }
  : never

interface ResultBase<T extends Tasks> {
  readonly runId: string
  readonly raw: string
  /** Tasks in crew order. */
  readonly tasks: { readonly [K in keyof T]: TaskResult<OutputOf<T[K]>> }
  /** Finds a task. Throws TASK_NOT_FOUND; the message names the tasks that exist. */
  task<const Given extends Task | string>(task: KnownReference<T, Given>): TaskResult<OutputBy<T, Given>>
  /** Tokens that this run spent, and tokens that its inherited outputs cost earlier runs. */
  readonly usage: { readonly spent: Usage; readonly inherited: Usage }
  /** Failed tasks that the run continued without. A task of a nested crew is named `settle/payout`. */
  readonly failures: readonly TaskFailure[]
  /** Outputs that were kept although they are stale. */
  readonly stale: readonly StaleTask[]
  /** For a flow: recorded steps that its function no longer requests. */
  readonly left?: readonly string[]
  /** For a fork: what was planned for each task, and how it turned out. */
  readonly plan: readonly PlannedOutcome[] | undefined
  /** Open questions. The id of a question of a nested crew includes the task name: `research/q1`. */
  readonly questions: readonly OpenQuestion[]
  /** For a completed run, the output as text. For a suspended run, a sentence with the reason and the next call. */
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
  const views = await taskViews({ state, questions, held: true }, crew)
  const tasks = nestItems(views)
  const completed = state.status === 'completed'
  const { raw, output } = completed ? await runOutput(state, tasks, crew) : { raw: '', output: undefined }
  const suspension = completed ? undefined : readSuspension(state, questions)
  const inherited = tasks.filter((task) => task.status === 'inherited')
  const result = {
    runId: state.run,
    status: completed ? 'completed' : 'suspended',
    raw,
    output,
    tasks,
    task: (reference: Task | string) => findView(views, reference, `run ${state.run}`),
    usage: {
      spent: { ...state.spent },
      inherited: inherited.reduce((sum, task) => addUsage(sum, task.usage), noUsage),
    },
    failures: taskFailures(state),
    stale,
    ...(state.flow ? { left: state.left ?? [] } : {}),
    plan: await planOutcomes(state, crew.prices),
    questions,
    ...suspension,
    toString: () => (suspension ? describeSuspension(state.run, suspension, questions) : raw),
  }
  // console.log(result) prints String(result), as print(result) does in CrewAI; not enumerable, since it is not data
  Object.defineProperty(result, Symbol.for('nodejs.util.inspect.custom'), { value: () => result.toString() })
  return result as unknown as RunResult<T>
}

/** Returns the view of a task that this process has just completed. */
export function taskOutput(state: RunState, task: TaskState, code: TaskDefinition): Promise<TaskView> {
  return taskView({ state, questions: [], held: true }, task, code)
}

/** Finds a task or an item. Throws TASK_NOT_FOUND; the message names the existing ones. */
function findView(views: readonly TaskView[], reference: Task | string, where: string): TaskResult {
  const found = findTask(views, reference, where)
  return nestItems(views).find(({ name }) => name === found.name) ?? found
}

/** Finds a task by object, name or id. Throws TASK_NOT_FOUND; the message names the tasks that exist. */
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
  const similar = nearest(
    wanted,
    tasks.map((task) => task.name),
  )
  const advice = nestedTaskWords(tasks, wanted) ?? (similar === undefined ? '' : `; did you mean ${similar}?`)
  const names = namesByGroup(tasks.map(({ name, id }) => (id === '' ? name : `${name} (${id})`)))
  const existing = someNames(names) || 'none yet'
  throw new RepriseError('TASK_NOT_FOUND', `${where} has no task ${describe(wanted)}${advice}; it has ${existing}`)
}

/** Returns advice for `research/facts`, which is how questions and lists name a task of a nested crew. */
function nestedTaskWords(
  tasks: readonly { readonly name: string; readonly child?: unknown }[],
  wanted: string,
): string | undefined {
  const task = tasks.find(({ name, child }) => child !== undefined && wanted.startsWith(`${name}/`))
  if (!task) return undefined
  const run = typeof task.child === 'string' ? `child run ${task.child}` : `a child run, such as <run>/${task.name}#1`
  return `; name task ${wanted.slice(task.name.length + 1)} of ${run}`
}

interface Suspension {
  /** The reason, in one sentence without advice. */
  readonly facts: string
  /** The next step: answer the first open question; if there is none, resume the run or its root. */
  readonly next: NextStep
}

/** `questions` are all open questions, including those of nested crews. */
function readSuspension(state: RunState, questions: readonly Question[]): Suspension {
  const { run, suspended, woken, imported } = state
  const [first] = questions
  const waits = ['questions', 'limit', 'child', 'sleeping', 'events'].includes(suspended?.reason ?? '')
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

/**
 * Describes the suspension for users of the library: with a call that answers each open question, then the call that
 * resumes the run.
 */
function describeSuspension(runId: string, { facts, next }: Suspension, questions: readonly Question[]): string {
  if (next.type === 'resume' || next.type === 'requeue') return `${facts}; ${nextWords(next)}`
  const answers = questions.map((question) => nextWords(answerStep(runId, question)))
  return `${facts} (${[...answers, nextWords({ type: 'resume', runId })].join(', then ')})`
}

export interface RunView<T extends Tasks = readonly Task[]> extends RunData {
  /** Finds a task. Throws TASK_NOT_FOUND; the message names the tasks that exist. */
  task<const Given extends Task | string>(task: KnownReference<T, Given>): TaskResult<OutputBy<T, Given>>
}

/** Reads the view of a run. Rejects with RUN_NOT_FOUND. */
export async function viewRun(...given: Parameters<typeof viewOfRun>): Promise<RunView> {
  const view = await viewOfRun(...given)
  const task = (reference: Task | string): unknown => findView(view.tasks, reference, `run ${view.runId}`)
  return { ...view, task: task as RunView['task'] }
}

/**
 * A task, its name or its id, or an item of a task with `forEach`: `chapter[c7]`. If all names of tasks are known, a
 * misspelled one does not compile. A string that is only known at run time compiles; if no task matches, the call
 * rejects with TASK_NOT_FOUND.
 */
export type TaskReference<Name extends string = string> = Task<Name> | Name | `${Name}[${string}]` | TaskId

/** A UUID, version 8: the form of task ids. Task names hardly ever look like this. */
type TaskId = `${string}-${string}-8${string}-${string}-${string}`

/** References to these tasks. `Given` are the strings passed as arguments. */
export type ReferenceTo<T extends Tasks, Given extends string> = string extends Given
  ? Given | Task<T[number]['name']>
  : TaskReference<T[number]['name']>

/** Like `ReferenceTo`, for methods whose return type depends on the argument. */
export type KnownReference<T extends Tasks, Given extends Task | string> = string extends Given
  ? Given
  : TaskReference<T[number]['name']>

/** Output type of the referenced task; unknown if the compiler can't tell. */
export type OutputBy<T extends Tasks, Given> =
  ListBy<T, Given> extends infer List
    ? [List] extends [never]
      ? OutputOf<FoundBy<T, Given>>
      : ItemIn<OutputOf<List>>
    : never

/** Type of a replacement output: the value before the schema's transforms. */
export type RawBy<T extends Tasks, Given> =
  ListBy<T, Given> extends infer List
    ? [List] extends [never]
      ? RawOf<FoundBy<T, Given>>
      : ItemIn<RawOf<List>>
    : never
export type RawOf<T> = T extends { readonly '~raw'?: infer Raw } ? Raw : unknown

/** The task in the name of an item: task `chapter` for `chapter[c7]`. */
type ListBy<T extends Tasks, Given> = Given extends `${infer Name}[${string}]`
  ? Extract<T[number], { readonly name: Name }>
  : never

export type ItemIn<List> = List extends readonly (infer Item)[] ? Item : unknown

type FoundBy<T extends Tasks, Given> = Given extends Task
  ? Given
  : Extract<T[number], { readonly name: Given }> extends infer Found
    ? [Found] extends [never]
      ? Task
      : Found
    : never

// Results of runs that this process does not execute: read from the journal, or after waiting.

/** Returns the result of a completed or suspended run. */
export async function storedResultOf(crew: CrewDefinition, { state, questions }: RunTree): Promise<RunResult> {
  return toResult(state, crew, staleTasks(crew, state), questions)
}

/**
 * Waits while a process executes the run or a worker will, then returns its result. Rejects with the failure of the
 * run, with RUN_CANCELLED, or with RUN_ABANDONED if the run has not ended and no process will continue it.
 */
export async function waitForResult(engine: Engine, crew: CrewDefinition, run: string): Promise<RunResult> {
  const row = await engine.store.row(run)
  // without this check, a run of another format would be waited for forever
  if (row) checkFormat(row)
  await waitUntilAtRest(engine, run)
  const { state } = await readRun(engine.store, run)
  switch (state.status) {
    case 'completed':
    case 'suspended':
      if (state.next !== undefined) return waitForResult(engine, crew, state.next)
      return storedResultOf(crew, await toRunTree(engine.store, state))
    case 'cancelled':
      throw runCancelledError(run)
    case 'failed':
      throw recordedFailure(state)
    default:
      throw runAbandoned(run)
  }
}

/** Returns the recorded error of a failed run. */
export function recordedFailure({ run, error }: RunState): RepriseError {
  const { code = '', message = 'the reason of the failure is unknown', task } = error ?? {}
  // the run may have been executed by newer code, which has other error codes
  const knownCode = Object.hasOwn(errorCodes, code) ? (code as ErrorCode) : 'TASK_FAILED'
  const tasks = task === undefined ? undefined : [task]
  return new RepriseError(knownCode, message, { runId: run, tasks, next: { type: 'resume', runId: run } })
}

function runAbandoned(run: string): RepriseError {
  const words = `run ${run} has not ended, and no process executes it`
  return new RepriseError('RUN_ABANDONED', words, { runId: run, next: { type: 'resume', runId: run } })
}

/** How often to check that the executing process is alive: a process that was killed sends no hint. */
const pollIntervalMs = 1_000

/**
 * Calls `look` whenever the run may have changed, until it returns a value. Rejects with RUN_NOT_FOUND, or with the
 * reason of the signal.
 */
export async function waitForRun<Value>(
  { store, world }: { readonly store: Store; readonly world: Pick<World, 'sleep'> },
  run: string,
  look: (row: RunRow) => Promise<Value | undefined>,
  signal?: AbortSignal,
): Promise<Value> {
  const watching = new AbortController()
  // watch before the first look, so that no change is missed
  const hints = store.watch(run, watching.signal)[Symbol.asyncIterator]()
  let hint = hints.next()
  try {
    for (;;) {
      signal?.throwIfAborted()
      const row = await store.row(run)
      if (!row) throw runNotFoundError(store, run)
      const value = await look(row)
      if (value !== undefined) return value
      const polling = new AbortController()
      const pollTimer = world.sleep(pollIntervalMs, signal ? AbortSignal.any([polling.signal, signal]) : polling.signal)
      pollTimer.catch(() => undefined)
      const received = await Promise.race([hint, pollTimer])
      polling.abort()
      // a closed store sends no more hints: only the timer remains
      if (received) hint = received.done ? new Promise<never>(() => undefined) : hints.next()
    }
  } finally {
    hint.catch(() => undefined)
    watching.abort()
  }
}

/**
 * Resolves when no process executes the run and no worker will. Rejects with RUN_NOT_FOUND.
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
 * Waits for the process that holds the run. `rest`: that process executed the run since `state` was read, and the
 * outcome is the result. `left`: it died or only recorded an answer, so another process may continue the run.
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
