// replay, fork and refresh: start a new run from an old one. The three differ only in their options. If a run with the
// given id exists and comes from the same call, it is continued. A refresh without stale tasks starts no run, since the
// new run would equal the old one, except if an id is given: then the caller expects a run with that id.
import type {
  Engine,
  ExecuteOptions,
  Inputs,
  TaskDecisions,
  TaskDefinition,
  CrewDefinition,
} from '../../engine/definition.ts'
import { refuseOutsideSteps } from '../../engine/task/function-call.ts'
import { runExecutor } from '../../engine/lease/leased-tree.ts'
import { isRowOfRun } from '../../read/incarnation.ts'
import { describeOrphan, suggestNames } from '../../journal/describe.ts'
import { createRun } from '../../engine/run/create-run.ts'
import { checkReadable, readRun } from '../../read/read-run.ts'
import { callsOfOpenChildren } from '../../engine/task/children.ts'
import { digest } from '../../journal/hash.ts'
import { lostEntries, withTaskChanges } from '../../journal/state/change-tasks.ts'
import type { RunState } from '../../journal/state/state.ts'
import { engineForTree, type OpenCrew, logStart, checkModels, checkBudgetPrices, checkPlanned } from '../open-crew.ts'
import { type StartedRun, executeHere } from '../started-run.ts'
import { type OnPlan, toPlan, type Plan } from '../result/plan.ts'
import { checkSameOrigin, requestDigest } from '../arguments/check-same-run.ts'
import {
  confirmPlan,
  readDecisions,
  type ExecuteChoices,
  type TaskDecisionOptions,
  type PlanConfirmation,
  readOnPlan,
  readChoices,
  signedFields,
  decisionKeys,
  executeKeys,
} from './shared-options.ts'
import { withEstimatesWithin } from '../../engine/plan/estimate.ts'
import {
  planFork,
  effectsPolicies,
  retryPolicies,
  stalePolicies,
  inheritedCalls,
  type ForkPlan,
  type ForkRequest,
  type EffectsPolicy,
  type RetryPolicy,
  type StalePolicy,
} from '../../engine/plan/plan-fork.ts'
import { planFlowFork, type FlowPlan } from '../../engine/plan/plan-flow.ts'
import { compareTasks, type TaskComparison } from '../../engine/run/compare-tasks.ts'
import type { PlannedTask } from '../../journal/entries.ts'
import {
  resolveInputs,
  readRawInputs,
  checkInputNames,
  overrideInputs,
  type RawInputs,
  type RunInputs,
  readOutputs,
  type OutputTarget,
  type InputsBy,
  type InputsFor,
} from '../arguments/run-inputs.ts'
import { latestAtRest } from './runs.ts'
import { checkNewRunId, checkRunId } from '../../read/row-summary.ts'
import { RepriseError } from '../../base/errors.ts'
import { warnOf } from '../../engine/warn-of.ts'
import { oneOf, optional, checkKeys, describe, defined, text } from '../../base/options.ts'
import { checkItem, findDefinition } from '../result/find-definition.ts'
import type { ItemIn, Tasks, TaskReference, RawOf } from '../result/result.ts'
import type { Task } from '../task.ts'
import { followAgain, resumeOrFollow } from './resume.ts'

/** Options of `replay`, `fork` and `refresh`. */
export interface NewRunOptions<Reference = TaskReference, Names extends InputsBy = string>
  extends ExecuteChoices<Reference>, PlanConfirmation, TaskDecisionOptions {
  /** The run to start from. Default: the latest run of the crew. */
  readonly runId?: string
  /** Id of the new run. If it exists, that run is continued, or its stored result is returned. Default: a new id. */
  readonly id?: string
  /** Inputs that replace inputs of the old run. The others are kept. */
  readonly inputs?: Partial<InputsFor<Names>>
  /**
   * What to do with `once` calls that the old run made. `reuse`: reuse their results. `again`: call the tools again.
   * `ask`: ask a person. Default: `reuse`.
   */
  readonly effects?: EffectsPolicy
}

export interface ReplayOptions<Reference = TaskReference, Names extends InputsBy = string> extends NewRunOptions<
  Reference,
  Names
> {
  /**
   * `descendants`: execute only the given task and the tasks that depend on it. Default: also execute every later task.
   */
  readonly only?: 'descendants'
  /**
   * What to do with restored outputs that are stale. `keep`: keep and report them. `rerun`: execute their tasks, too.
   * `refuse`: reject with OUTPUT_STALE. Default: `keep`; for a fork without `from` and `retry`: `rerun`.
   */
  readonly stale?: StalePolicy
}

export interface ForkOptions<
  Reference = TaskReference,
  Names extends InputsBy = string,
  Outputs = OutputsFor<Tasks>,
> extends ReplayOptions<Reference, Names> {
  /** Execute this task and every later one. Default: execute only tasks that are stale or have no output. */
  readonly from?: Reference
  /**
   * `failed`: execute the failed tasks, the tasks skipped because of them, and all tasks that depend on these; keep all
   * other outputs. Rejects with OPTION_INVALID if no task of the run failed.
   */
  readonly retry?: RetryPolicy
  /** Outputs by task name, which replace the recorded ones. The tasks that depend on them are executed. */
  readonly outputs?: Outputs
  /** Author of these outputs, recorded in the journal. */
  readonly by?: string
}

/**
 * Replacement outputs by task name, before the transforms of their schemas. The type is conditional only so that
 * editors show its members.
 */
export type OutputsFor<T extends Tasks> = T extends Tasks
  ? { readonly [K in T[number] as K['name']]?: RawOf<K> } & ItemOutputs<ListIn<T[number]>>
  : never

/** The outputs of items, by their names. Unknown, which adds nothing, if no output of the crew is a list. */
type ItemOutputs<List extends Task> = [List] extends [never]
  ? unknown
  : { readonly [K in List as `${K['name']}[${string}]`]?: ItemIn<RawOf<K>> }

type ListIn<T> = T extends Task ? (RawOf<T> extends readonly unknown[] ? T : never) : never

type ForkVerb = 'replay' | 'fork' | 'refresh'

const newRunKeys = ['runId', 'id', 'inputs', 'effects', 'onPlan', ...decisionKeys, ...executeKeys]
const forkKeys: { readonly [verb in ForkVerb]: readonly string[] } = {
  replay: [...newRunKeys, 'only', 'stale'],
  fork: [...newRunKeys, 'only', 'stale', 'from', 'retry', 'outputs', 'by'],
  refresh: newRunKeys,
}

/** A fork request with the inputs of the call, which are not yet merged with those of the old run. */
export interface NewRunRequest extends Omit<ForkRequest, 'inputs'> {
  readonly given: RawInputs
  /** The old run. Undefined for the latest run. */
  readonly run: string | undefined
  readonly id: string | undefined
  /** Decisions about recorded work that the crew has no task for. */
  readonly decisions: TaskDecisions
  readonly choices: ExecuteOptions
}

interface ForkRunRequest extends NewRunRequest {
  /** For a refresh: return the old run if no task is stale. */
  readonly onlyIfStale: boolean
  readonly onPlan: OnPlan | undefined
}

/**
 * Checks the options of a replay, fork or refresh. `fixed` are options that the method sets itself. Rejects with
 * OPTION_INVALID, OPTION_UNKNOWN, TASK_NOT_FOUND or INPUT_INVALID.
 */
export async function readFork(
  crew: CrewDefinition,
  verb: ForkVerb,
  options: ForkOptions<TaskReference, InputsBy>,
  fixed: { readonly runId?: string; readonly task?: Task | string } = {},
): Promise<ForkRunRequest> {
  const keys = forkKeys[verb].filter((key) => key !== 'runId' || fixed.runId === undefined)
  checkKeys(verb, options, keys, 'inputs')
  const { runId = options.runId } = fixed
  const from = verb === 'replay' ? startOf(crew, fixed.task as Task | string).name : options.from
  const request = await readNewRun(crew, { ...options, runId, from })
  return { ...request, onlyIfStale: verb === 'refresh', onPlan: readOnPlan(options.onPlan) }
}

export async function readNewRun(
  crew: CrewDefinition,
  options: Optional<ForkOptions<TaskReference, InputsBy>>,
): Promise<NewRunRequest> {
  const { runId, id, from, only, retry, stale, inputs, outputs, effects } = options
  const choices = readChoices(crew, options as ExecuteChoices)
  const start = from === undefined ? undefined : startOf(crew, from)
  checkThrough(crew, start, choices.through)
  if (only !== undefined && from === undefined) {
    const words = `only is ${describe(only)}, but it needs a task to start from; give from`
    throw new RepriseError('OPTION_INVALID', words)
  }
  return {
    run: runId === undefined ? undefined : checkRunId(runId),
    id: id === undefined ? undefined : checkNewRunId(id),
    from: start,
    only: optional('only', only, oneOf(['descendants'])),
    retry: optional('retry', retry, oneOf(retryPolicies)),
    given: await readRawInputs(inputs),
    outputs: await readOutputs((name) => outputTarget(crew, name), outputs, signedFields(options)),
    stale:
      optional('stale', stale, oneOf(stalePolicies)) ?? (from === undefined && retry === undefined ? 'rerun' : 'keep'),
    effects: optional('effects', effects, oneOf(effectsPolicies)),
    decisions: readDecisions(options as TaskDecisionOptions),
    choices,
  }
}

type Optional<Options> = { readonly [Key in keyof Options]?: Options[Key] | undefined }

/** Finds a task. The steps of a flow are looked up in the run that is forked. */
function startOf(crew: CrewDefinition, task: Task | string): Pick<TaskDefinition, 'name' | 'of'> {
  if (!crew.flow) return findDefinition(crew, task)
  return { name: text.read('the step', task) }
}

function outputTarget(crew: CrewDefinition, name: string): OutputTarget {
  return crew.flow ? { name, isStep: true } : findDefinition(crew, name)
}

/** Throws OPTION_INVALID if the run would stop before the task that it starts with. */
function checkThrough({ tasks }: CrewDefinition, from: ForkRequest['from'], through: string | undefined): void {
  const first = tasks.findIndex(({ name }) => name === (from?.of ?? from?.name))
  if (!from || through === undefined || tasks.findIndex(({ name }) => name === through) >= first) return
  const words = `through is ${through}, which comes before ${from.name}, where the new run starts; name that task or a later one`
  throw new RepriseError('OPTION_INVALID', words)
}

export async function forkRun(open: OpenCrew, request: ForkRunRequest): Promise<StartedRun> {
  refuseOutsideSteps(`a fork of a run of ${open.definition.name}`)
  const { definition: crew } = open
  const { id, from, effects, onPlan, choices } = request
  const opened = await open.engine()
  const run = id ?? opened.world.newRunId()
  const engine = engineForTree(opened)
  const resumeSame = (): Promise<StartedRun> =>
    resumeOrFollow(open, engine, run, {
      check: (state) => checkSameOrigin(engine.store, state, request),
      onPlan,
      choices,
    })
  if (id !== undefined && (await engine.store.row(id))) return resumeSame()
  const planned = await planExecutable(open, engine, request)
  if (request.onlyIfStale && id === undefined && isUnchanged(planned)) {
    const { parent: state } = planned
    logStart(crew, state.run, 'nothing is stale')
    return executeHere(open, engineForTree(opened), { state, hold: undefined }, choices)
  }
  const { parent, overrides, inputs, given, files, tasks, entries, compared } = onPlan
    ? await confirmForkPlan(open, engine, request, { onPlan, planned })
    : planned
  for (const orphan of compared.orphaned) {
    const words = `run ${parent.run} has recorded work that crew ${crew.name} has no task for: ${describeOrphan(orphan)}`
    warnOf(crew, { facts: `${words}; the new run does not use it`, next: suggestNames([orphan]) })
  }
  const calls = [...inheritedCalls(parent), ...(await callsOfOpenChildren(engine, parent))]
  const lost = lostEntries(parent)
  logStart(crew, run, `forked from run ${parent.run}${from ? `, from task ${from.name} on` : ''}`)
  const origin = {
    parent: {
      run: parent.run,
      incarnation: parent.incarnation,
      ...defined({ from: from?.name }),
      request: requestDigest(request, overrides),
    },
    // a flow may have inherited thousands of steps
    plan: crew.flow ? tasks.filter(({ action }) => action !== 'inherit') : tasks,
    ...(crew.flow ? { seed: parent.seed ?? parent.incarnation } : {}),
    ...(calls.length > 0 ? { calls } : {}),
    ...(lost.length > 0 ? { lost } : {}),
    ...defined({ effects: effects === 'reuse' ? undefined : effects, module: open.module }),
  }
  const hold = await createRun(engine, crew, { run, inputs, given, files, through: choices.through, origin, entries })
  // undefined if a concurrent call has just created a run with this id
  if (!hold) return resumeSame()
  return executeHere(open, engine, { state: hold.state, hold }, choices, { continueAs: followAgain(open, choices) })
}

/** Whether the new run would equal the old one: completed, with the same inputs, tasks and outputs. */
function isUnchanged({ parent, inputs, tasks, isUnchanged: isSameFlow }: PlannedRun): boolean {
  if (isSameFlow !== undefined) return isSameFlow && digest(inputs) === digest(parent.inputs)
  const before = [...parent.tasks.values()].filter((task) => !task.removed).map(({ name }) => name)
  return (
    parent.status === 'completed' &&
    tasks.every(({ action }) => action === 'inherit') &&
    tasks.length === before.length &&
    tasks.every(({ task }, index) => task === before[index]) &&
    digest(inputs) === digest(parent.inputs)
  )
}

/** Calls `onPlan`. If the old run advances meanwhile, plans again, and calls `onPlan` again if the plan has changed. */
async function confirmForkPlan(
  open: OpenCrew,
  engine: Engine,
  request: NewRunRequest,
  { onPlan, planned: first }: { readonly onPlan: OnPlan; readonly planned: PlannedRun },
): Promise<PlannedRun> {
  const { through } = request.choices
  let planned = first
  for (;;) {
    const { parent } = planned
    const shown = forkPlan(open, planned, through)
    await confirmPlan(onPlan, shown)
    if (!(await hasAdvanced(engine, parent))) return planned
    planned = await planExecutable(open, engine, { ...request, run: parent.run })
    const { tasks } = forkPlan(open, planned, through)
    if (digest(tasks as never) === digest(shown.tasks as never)) return planned
  }
}

/** Plans, and checks the models, which only an execution needs. Rejects with MODEL_INVALID or MODEL_KEY_MISSING. */
async function planExecutable(open: OpenCrew, engine: Engine, request: NewRunRequest): Promise<PlannedRun> {
  const planned = await planNewRun(open, engine, request)
  checkModels(open.definition.tasks.filter(isExecutedBy(planned.tasks)))
  return planned
}

/** Whether a process executes the run, or has written entries since the run was read. */
async function hasAdvanced(engine: Engine, { run, incarnation, seq }: RunState): Promise<boolean> {
  const row = await engine.store.row(run)
  if ((await runExecutor(engine, run)) !== undefined || !row || !isRowOfRun(row, incarnation)) return true
  for await (const _ of engine.store.read(run, seq)) return true
  return false
}

interface PlannedRun extends RunInputs, ForkPlan, Partial<Pick<FlowPlan, 'open' | 'isUnchanged' | 'warnings'>> {
  readonly parent: RunState
  /** Inputs that override those of the old run. */
  readonly overrides: Inputs
  readonly compared: TaskComparison
}

/**
 * Plans a new run. Rejects with RUN_NOT_FOUND, RUN_HELD, OUTPUT_STALE, or the input errors of the tasks to execute.
 */
export async function planNewRun(open: OpenCrew, engine: Engine, request: NewRunRequest): Promise<PlannedRun> {
  const { definition: crew } = open
  const { state } = await readRun(engine.store, request.run ?? (await latestAtRest(open, engine)))
  checkReadable(state, crew.name)
  const compared = await compareTasks(crew, state, request.decisions)
  const parent = withTaskChanges(state, compared.changes)
  for (const name of [request.from?.name ?? [], ...(request.outputs?.keys() ?? [])].flat())
    checkItem(parent, startOf(crew, name))
  const overrides = resolveInputs(request.given, parent.given ?? parent.inputs)
  checkInputNames(crew, overrides, parent)
  const merged = await overrideInputs(crew, parent, overrides, request.given.files)
  await checkBudgetPrices(crew)
  const forked = { ...request, inputs: merged.inputs }
  const { tasks, entries, within, ...found } = crew.flow
    ? await planFlowFork(engine, crew, crew.flow, parent, forked)
    : { ...(await planFork(crew, parent, forked)), within: new Map() }
  await checkPlanned(crew, merged.inputs, isExecutedBy(tasks))
  const estimated = await withEstimatesWithin(engine, crew, tasks, within, parent)
  return { parent, overrides, ...merged, tasks: estimated, entries, compared, ...found }
}

function isExecutedBy(plan: readonly PlannedTask[]): (task: TaskDefinition) => boolean {
  const executed = new Set(plan.filter((item) => item.action === 'execute').map((item) => item.task))
  return (task) => executed.has(task.name)
}

/** Returns the plan in its public form. */
export function forkPlan({ definition }: OpenCrew, planned: PlannedRun, through: string | undefined): Plan {
  const { parent, inputs, tasks, compared, open, warnings = [] } = planned
  return toPlan(definition, { of: 'fork', runId: parent.run, inputs, tasks, through, open, ...compared, warnings })
}
