// Plans a replay, fork or refresh: the old run, the new inputs, and an action for each task. Writes nothing.
import type { Engine, ExecuteOptions, Inputs, TaskDecisions, TaskDefinition } from '../../engine/definition.ts'
import { withEstimates } from '../../engine/plan/estimate.ts'
import { planFork, type ForkPlan, type ForkRequest } from '../../engine/plan/plan-fork.ts'
import { readRun } from '../../engine/read/read-run.ts'
import { compareTasks, type TaskComparison } from '../../engine/run/compare-tasks.ts'
import { checkReadable } from '../../engine/run/lifecycle.ts'
import type { PlannedTask } from '../../journal/entries.ts'
import { withTaskChanges } from '../../journal/state/change-tasks.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { OpenCrew } from '../open-crew.ts'
import { toPlan, type Plan } from '../result/plan.ts'
import { checkBudgetPrices, checkPlanned } from '../arguments/check-executable.ts'
import { resolveInputs, type RawInputs } from '../arguments/raw-inputs.ts'
import { checkInputNames } from '../arguments/input-names.ts'
import { latestAtRest } from './latest-run.ts'
import { overrideInputs, type RunInputs } from '../arguments/run-inputs.ts'

/** A fork request whose inputs are not yet merged with those of the old run. */
export interface NewRunRequest extends Omit<ForkRequest, 'inputs'> {
  readonly given: RawInputs
  /** The old run. Undefined: the latest run. */
  readonly run: string | undefined
  readonly id: string | undefined
  /** Decisions about recorded work that the crew has no task for. */
  readonly decisions: TaskDecisions
  readonly choices: ExecuteOptions
}

export interface PlannedRun extends RunInputs, ForkPlan {
  readonly parent: RunState
  /** Inputs that override those of the old run. */
  readonly over: Inputs
  readonly compared: TaskComparison
}

/** RUN_NOT_FOUND, RUN_HELD, OUTPUT_STALE, and errors of the inputs of the tasks to execute. */
export async function planNewRun(open: OpenCrew, engine: Engine, request: NewRunRequest): Promise<PlannedRun> {
  const { definition: crew } = open
  const { state } = await readRun(engine.store, request.run ?? (await latestAtRest(open, engine)))
  checkReadable(state, crew.name)
  const compared = await compareTasks(crew, state, request.decisions)
  const parent = withTaskChanges(state, compared.changes)
  const over = resolveInputs(request.given, parent.given ?? parent.inputs)
  checkInputNames(crew, over, parent)
  const made = await overrideInputs(crew, parent, over, request.given.files)
  await checkBudgetPrices(crew)
  const { tasks, entries } = await planFork(crew, parent, { ...request, inputs: made.inputs })
  await checkPlanned(crew, made.inputs, isExecutedBy(tasks))
  const estimated = await withEstimates(engine, crew, tasks, parent)
  return { parent, over, ...made, tasks: estimated, entries, compared }
}

export function isExecutedBy(plan: readonly PlannedTask[]): (task: TaskDefinition) => boolean {
  const executed = new Set(plan.filter((item) => item.action === 'execute').map((item) => item.task))
  return (task) => executed.has(task.name)
}

/** The plan in its public form. */
export function forkPlan({ definition }: OpenCrew, planned: PlannedRun, through: string | undefined): Plan {
  const { parent, inputs, tasks, compared } = planned
  return toPlan(definition, { of: 'fork', runId: parent.run, inputs, tasks, through, ...compared, warnings: [] })
}
