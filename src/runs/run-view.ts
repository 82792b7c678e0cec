// The view of one run, as library, command line and page show it: plain data, built from a run and its child runs.
import { checkKeys } from '../base/options.ts'
import type { CrewDefinition } from '../engine/definition.ts'
import { dueTime, moveOf } from '../read/row-summary.ts'
import { costOfRun } from '../read/costs.ts'
import { staleTasks, type StaleTask } from '../engine/plan/inheritance.ts'
import { comparedForView } from '../engine/run/compare-tasks.ts'
import type { OrphanedTask, TaskFailure, DispatchedBy, Entry } from '../journal/entries.ts'
import { plainInputs } from '../journal/files.ts'
import { parentRunId } from '../journal/paths.ts'
import { orphanedIn } from '../journal/state/change-tasks.ts'
import { taskFailures, unfinishedCrews } from '../journal/state/tally.ts'
import type { OpenQuestion } from '../journal/state/open-questions.ts'
import { isEnded, type RunState, addTo } from '../journal/state/state.ts'
import { spentByModel } from '../journal/state/spent.ts'
import {
  planOutcomes,
  isDone,
  runOutput,
  currentTasks,
  pageOfTasks,
  readTaskRange,
  taskViews,
  type PlannedOutcome,
  type TaskRange,
  type TaskView,
} from './task-view.ts'
import { flowFacts, type FlowFacts } from './flow-view.ts'
import { runViewStatus, describeWhy, readExecution, type Execution } from './status.ts'
import { type RunSummary, parentRun, type ParentRun } from './summary.ts'
import type { Store } from '../stores/store.ts'
import { openTreeQuestions, childReader, type ReadChild } from '../engine/task/children.ts'
import { readRun } from '../read/read-run.ts'

export interface RunView extends RunSummary, FlowFacts {
  /** The dispatcher's call that last continued the run, such as a Restate invocation. */
  readonly via: DispatchedBy | undefined
  /** The text of the last task that wasn't skipped, once the run is completed. */
  readonly raw: string | undefined
  /** The output of that task. */
  readonly output: unknown
  /** Open questions. The ids of a child run's questions begin with the task: `research/q1`. */
  readonly questions: readonly OpenQuestion[]
  /** Failed tasks that the run continued without. Those of a nested crew begin with its task: `settle/payout`. */
  readonly failures: readonly TaskFailure[]
  /** Tasks whose outputs or skips are stale. Empty if the code isn't loaded. */
  readonly stale: readonly StaleTask[]
  /** For a fork: its plan, with the outcome of each task. */
  readonly plan: readonly PlannedOutcome[] | undefined
  readonly tasks: readonly TaskView[]
  /** Changes of the crew's tasks, as resumes found them. */
  readonly taskChanges: RunState['taskChanges']
  /** Recorded work for which the crew has no task. If the code isn't loaded, as of the last resume. */
  readonly orphaned: readonly OrphanedTask[]
}

export interface ViewOptions {
  /** Only a page of the tasks: a flow may have thousands of steps. Default: all. */
  readonly tasks?: TaskRange
}

/** Checks the options of `view`. Throws OPTION_INVALID or OPTION_UNKNOWN. */
export function readViewOptions(options: ViewOptions): ViewOptions {
  checkKeys('view', options, ['tasks'])
  return options.tasks === undefined ? {} : { tasks: readTaskRange('tasks', options.tasks) }
}

/**
 * Reads a run and builds its view. Without `crew`, outputs are plain
 * JSON and nothing is compared with the code. Rejects with RUN_NOT_FOUND if there is no such run.
 */
export async function viewRun(
  { store }: { readonly store: Store },
  runId: string,
  crew?: CrewDefinition,
  { tasks: range }: ViewOptions = {},
): Promise<RunView> {
  const tree = await readRunTree(store, runId)
  // the view of a crew is made from all of its tasks
  if (tree.state.flow) return buildRunView(tree, crew, await taskViews(tree, crew, range))
  const view = await buildRunView(tree, crew)
  return range ? { ...view, tasks: pageOfTasks(view.tasks, range).items } : view
}

/** Builds the view of a run that was already read. `known`: its tasks, or none if the caller shows them otherwise. */
export async function buildRunView(
  tree: RunTree,
  crew?: CrewDefinition,
  known?: readonly TaskView[],
): Promise<RunView> {
  const { state, questions, parent, held, holder } = tree
  const { run: runId, suspended, woken, error, imported } = state
  const dueAt = dueTime(state)
  const openQuestions = questions.length
  const status = runViewStatus(state.status, state, { questions: openQuestions, held })
  const tasks = known ?? (await taskViews(tree, crew))
  const completed = status === 'completed'
  const last = completed ? await runOutput(state, tasks, crew) : undefined
  const own = currentTasks(state)
  const failures = taskFailures(state)
  return {
    runId,
    crew: state.crew,
    version: state.version,
    status,
    why: describeWhy({ runId, status, openQuestions, suspended, woken, error, dueAt, imported }),
    inputs: plainInputs(state.inputs),
    parent,
    caller: parentRunId(runId),
    holder,
    via: state.via,
    createdAt: state.createdAt,
    updatedAt: state.updatedAt,
    lives: state.lives,
    done: own.filter(isDone).length,
    failed: state.tally.failures,
    total: own.length,
    flow: state.flow ?? false,
    chat: state.chat ?? false,
    previous: state.previous,
    next: state.next,
    usage: { ...state.spent },
    cost: await costOfRun(state, crew?.prices),
    openQuestions,
    error,
    dueAt,
    raw: last?.raw,
    output: last?.output,
    questions,
    failures,
    plan: await planOutcomes(state, crew?.prices),
    tasks,
    taskChanges: state.taskChanges,
    ...flowFacts(state),
    ...(await comparedWithCode(tree, crew)),
  }
}

/** Compares a run with the code of its crew. Without it, nothing is stale, and `orphaned` is as of the last resume. */
export async function comparedWithCode(
  { state, store }: Pick<RunTree, 'state' | 'store'>,
  crew: CrewDefinition | undefined,
): Promise<Pick<RunView, 'stale' | 'orphaned'>> {
  const stale = crew ? staleTasks(crew, state) : []
  if (isEnded(state.status)) return { stale, orphaned: [] }
  return { stale, orphaned: crew ? (await comparedForView(crew, state, {}, store)).orphaned : orphanedIn(state) }
}

/**
 * A run with its child runs and its holder. Everything that shows a run is built from this, so that each journal is
 * read once, and the usage and questions of child runs count for their root everywhere.
 */
export interface RunTree extends Execution {
  /** With the usage of unfinished child runs, which the run's own journal has only when they end. */
  readonly state: RunState
  /** Open questions. The ids of a child run's questions begin with the task: `research/q1`. */
  readonly questions: readonly OpenQuestion[]
  readonly store: Store
  readonly parent: ParentRun | undefined
}

/** `onEntry` receives each entry of the root. Rejects with RUN_NOT_FOUND if there is no such run. */
export async function readRunTree(store: Store, runId: string, onEntry?: (entry: Entry) => void): Promise<RunTree> {
  return toRunTree(store, (await readRun(store, runId, onEntry)).state)
}

/**
 * Builds a run tree from a state that was already read, and perhaps `known` states of child runs. Leaves the state
 * unchanged: otherwise, an executing run would count its child runs twice.
 */
export async function toRunTree(
  store: Store,
  state: RunState,
  known?: ReadonlyMap<string, RunState>,
): Promise<RunTree> {
  const read = childReader(store, known)
  return {
    state: await withChildren(state, read),
    // the questions of a moved run are asked in the other store
    questions: moveOf(state) ? [] : await openTreeQuestions(state, read),
    store,
    parent: await parentRun(store, state.parent?.run, state.parent?.incarnation, state.parent?.from),
    ...(await readExecution(store, state.run, state.status)),
  }
}

async function withChildren(state: RunState, read: ReadChild): Promise<RunState> {
  const attempts = new Map(state.attempts)
  const spent = { ...state.spent }
  const spending = new Map(state.spending)
  for (const attempt of unfinishedCrews(state)) {
    const child = await read(attempt.child)
    if (!child) continue
    const whole = await withChildren(child, read)
    attempts.set(attempt.path, { ...attempt, spent: spentByModel(whole) })
    addTo(spent, whole.spent)
    for (const [key, part] of whole.spending) spending.set(`${attempt.path} ${key}`, part)
  }
  return { ...state, attempts, spent, spending }
}
