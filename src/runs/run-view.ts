// One run as it stands: the shape that library, command line and page show. Data alone, made from what was read.
import type { CrewDefinition, Engine } from '../engine/definition.ts'
import { dueTime, isReady } from '../engine/read/due.ts'
import { costOfRun } from '../engine/plan/estimate.ts'
import { staleTasks, type StaleTask } from '../engine/plan/stale-tasks.ts'
import { comparedForView } from '../engine/run/compare-tasks.ts'
import type { OrphanedTask, TaskFailure, DispatchedBy } from '../journal/entries.ts'
import { plainInputs } from '../journal/files.ts'
import { parentRunId } from '../journal/paths.ts'
import { orphanedIn } from '../journal/state/change-tasks.ts'
import { taskFailures } from '../journal/state/failures.ts'
import type { OpenQuestion } from '../journal/state/open-questions.ts'
import { isEnded, type RunState } from '../journal/state/state.ts'
import { planOutcomes, type PlannedOutcome } from './plan-outcomes.ts'
import { runViewStatus } from './status.ts'
import type { RunSummary } from './summary.ts'
import { isDone, lastOutput, currentTasks, taskViews, type TaskView } from './task-view.ts'
import { readRunTree, type RunTree } from './run-tree.ts'
import { describeWhy } from './why.ts'

export interface RunView extends RunSummary {
  /** The call of a queue or an engine by which a process last took it up: an invocation of Restate, for example. */
  readonly via: DispatchedBy | undefined
  /** Text and output of the last task that was not skipped, once the run is completed. */
  readonly raw: string | undefined
  readonly output: unknown
  /** Open ones; those of a task that is a crew under its name: `research/q1`. */
  readonly questions: readonly OpenQuestion[]
  /** Tasks that failed and that the run continued without; those of a nested crew as `settle/payout`. */
  readonly failures: readonly TaskFailure[]
  /** Outputs that today's code would make from something else; empty where the code is not at hand. */
  readonly stale: readonly StaleTask[]
  /** For a run that was made from another: what was planned for each task, and what became of it. */
  readonly plan: readonly PlannedOutcome[] | undefined
  readonly tasks: readonly TaskView[]
  /** How the crew's tasks have changed, each time that a resume found them changed. */
  readonly taskChanges: RunState['taskChanges']
  /** Recorded work that the crew has no task for; without the code, as it was when the run was last taken up. */
  readonly orphaned: readonly OrphanedTask[]
}

/**
 * `crew` is undefined where the code is not at hand: then outputs are plain JSON and nothing is compared.
 * RUN_NOT_FOUND.
 */
export async function viewRun(
  { store }: Pick<Engine, 'store'>,
  runId: string,
  crew?: CrewDefinition,
): Promise<RunView> {
  return buildRunView(await readRunTree(store, runId), crew)
}

/** For those that have read the run: nothing more is read. */
export async function buildRunView(unit: RunTree, crew?: CrewDefinition): Promise<RunView> {
  const { state, questions, parent, held, holder } = unit
  const { run: runId, suspended, woken, error, imported } = state
  const dueAt = dueTime(state)
  const openQuestions = questions.length
  const status = runViewStatus(state.status, { questions: openQuestions, held, awake: isReady(state), suspended })
  const tasks = await taskViews(unit, crew)
  const completed = status === 'completed'
  const last = completed ? lastOutput(tasks) : undefined
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
    failed: failures.length,
    total: own.length,
    usage: { ...state.spent },
    cost: await costOfRun(state, crew?.prices),
    openQuestions,
    error,
    dueAt,
    raw: completed ? (last?.raw ?? '') : undefined,
    output: last?.output,
    questions,
    failures,
    stale: crew ? staleTasks(crew, state) : [],
    plan: await planOutcomes(state, crew?.prices),
    tasks,
    taskChanges: state.taskChanges,
    orphaned: await orphanedWork(unit, crew),
  }
}

/** Without the crew's code, as it was when the run was last taken up. */
export async function orphanedWork(
  { state, store }: RunTree,
  crew: CrewDefinition | undefined,
): Promise<readonly OrphanedTask[]> {
  if (isEnded(state.status)) return []
  return crew ? (await comparedForView(crew, state, {}, store)).orphaned : orphanedIn(state)
}
