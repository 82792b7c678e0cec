// kickoff: starts a new run, or continues the existing run with the given id.
import type { Hold } from '../../engine/lease/hold.ts'
import { localRunKey } from '../../engine/lease/leased-tree.ts'
import { createRun, type NewRun } from '../../engine/run/create-run.ts'
import {
  refuseOutsideSteps,
  runningCode,
  warnOfUncountedRun,
  type FunctionCall,
  type RunningCode,
} from '../../engine/task/function-call.ts'
import { kickoffChild, kickoffName } from '../../engine/task/kickoff-child.ts'
import type { CrewDefinition, Engine, ExecuteOptions, Inputs } from '../../engine/definition.ts'
import { readRun } from '../../read/read-run.ts'
import { defined, oneOf, optional, checkKeys } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import type { RunState } from '../../journal/state/state.ts'
import {
  engineForTree,
  type OpenCrew,
  isDefaultPlace,
  logStart,
  checkExecutable,
  checkBudgetPrices,
  checkTaskInputs,
  checkModels,
} from '../open-crew.ts'
import { type StartedRun, executeHere } from '../started-run.ts'
import {
  type WhenHeld,
  readReuse,
  whenHeldPolicies,
  type ExecuteChoices,
  confirmPlan,
  type PlanConfirmation,
  type WhenHeldOption,
  type Reuse,
  type InputsOption,
  readOnPlan,
  readChoices,
  executeKeys,
} from './shared-options.ts'
import { type OnPlan, toPlan, type Plan } from '../result/plan.ts'
import { checkSameInputs, hasSameInputs } from '../arguments/check-same-run.ts'
import type { PlanRequest } from './plan.ts'
import {
  resolveInputs,
  readRawInputs,
  checkInputNames,
  prepareInputs,
  parseInputs,
  type RawInputs,
  type RunInputs,
  type InputsBy,
  type NeedsInputs,
} from '../arguments/run-inputs.ts'
import { followAgain, resumeOrFollow } from './resume.ts'
import { checkNewRunId } from '../../read/row-summary.ts'
import type { TaskReference } from '../result/result.ts'
import { withEstimates } from '../../engine/plan/estimate.ts'
import { emptyState } from '../../journal/state/fold.ts'
import { planFlowRun } from '../../engine/plan/plan-flow.ts'
import { planKickoff } from '../../engine/plan/plan-run.ts'

export type KickoffOptions<Reference = TaskReference, Names extends InputsBy = string> = ExecuteChoices<Reference> &
  PlanConfirmation &
  WhenHeldOption & {
    /**
     * Run id. If no run has this id, a new run starts. If that run is unfinished or failed, it is resumed; if it is
     * completed, its stored result is returned. Default: a new id.
     */
    readonly id?: string
    /** Whether to reuse outputs of earlier tasks with the same code and inputs. Default: false. */
    readonly reuse?: Reuse
  } & InputsOption<Names>

/** Arguments of `kickoff`. The options may be omitted if no input is required. */
export type Kickoff<Reference, Names extends InputsBy> =
  NeedsInputs<Names> extends true
    ? [options: KickoffOptions<Reference, Names>]
    : [options?: KickoffOptions<Reference, Names>]

interface KickoffRequest {
  readonly id: string | undefined
  /** Undefined if not passed: an existing run then keeps its inputs. */
  readonly inputs: RawInputs | undefined
  readonly reuse: RunState['reuse']
  readonly onPlan?: OnPlan | undefined
  readonly whenHeld?: WhenHeld | undefined
  readonly choices: ExecuteOptions
}

/** Checks the options of `kickoff`. Rejects with OPTION_INVALID, OPTION_UNKNOWN, TASK_NOT_FOUND or INPUT_INVALID. */
export async function readKickoff(
  crew: CrewDefinition,
  options: Partial<KickoffOptions<TaskReference, InputsBy>> = {},
): Promise<KickoffRequest> {
  checkKeys('kickoff', options, ['id', 'inputs', 'reuse', 'onPlan', 'whenHeld', ...executeKeys], 'inputs')
  const { id, inputs } = options
  return {
    id: id === undefined ? undefined : checkNewRunId(id),
    inputs: inputs === undefined ? undefined : await readRawInputs(inputs),
    reuse: readReuse(options.reuse),
    onPlan: readOnPlan(options.onPlan),
    whenHeld: optional('whenHeld', options.whenHeld, oneOf(whenHeldPolicies)),
    choices: readChoices(crew, options),
  }
}

export async function kickoff(open: OpenCrew, request: KickoffRequest): Promise<StartedRun> {
  const code = runningCode()
  refuseOutsideSteps(`a run of ${open.definition.name}`)
  const call = code && (await findParentCall(open, code, request.id))
  if (call) return startChild(open, call, request)
  const { definition: crew } = open
  const { id, inputs: given, reuse, onPlan, whenHeld, choices } = request
  const opened = await open.engine()
  const run = id ?? opened.world.newRunId()
  const engine = engineForTree(opened)
  if (id === undefined || !(await engine.store.row(run))) {
    const prepared = await prepareKickoff(engine, crew, request, given ? resolveInputs(given) : {})
    logStart(crew, run, 'kickoff')
    const hold = await createOnce(engine, crew, {
      run,
      ...prepared,
      through: choices.through,
      origin: defined({ reuse, module: open.module }),
    })
    if (hold)
      return executeHere(open, engine, { state: hold.state, hold }, choices, { continueAs: followAgain(open, choices) })
  }
  const check = (state: RunState): void => given && checkSameInputs(state, given)
  return resumeOrFollow(open, engine, run, { check, choices, onPlan, whenHeld })
}

/** Makes all checks of a new run, and calls `onPlan`. */
async function prepareKickoff(
  engine: Engine,
  crew: CrewDefinition,
  { inputs: given, reuse, onPlan, choices }: KickoffRequest,
  inputs: Inputs,
): Promise<RunInputs> {
  checkInputNames(crew, inputs)
  const prepared = await prepareInputs(crew, inputs, given?.files)
  await checkExecutable(crew, prepared.inputs, () => true)
  await checkBudgetPrices(crew)
  if (onPlan) await confirmPlan(onPlan, await kickoffPlan(engine, crew, prepared.inputs, { reuse, ...choices }))
  return prepared
}

/** Starts a child run, for a kickoff within a function task. */
async function startChild(open: OpenCrew, call: FunctionCall, request: KickoffRequest): Promise<StartedRun> {
  const { definition: crew } = open
  const { id, inputs: given, reuse, choices } = request
  const inputs = given ? resolveInputs(given) : {}
  const child = await kickoffChild(call, {
    name: kickoffName(call, id, crew.name, inputs),
    crew,
    options: choices,
    isSame: (state) => !given || hasSameInputs(state, given),
    async make() {
      const prepared = await prepareKickoff(call.life.engine, crew, request, inputs)
      return { ...prepared, through: choices.through, origin: defined({ reuse, module: open.module }) }
    },
  })
  const { engine, opened } = child
  logStart(crew, opened.state.run, 'kickoff')
  return executeHere(open, engine, opened, choices, { kickedOff: child })
}

/**
 * Returns the function call in which the new run becomes a child run. Undefined if it cannot become one; a warning says
 * why.
 */
async function findParentCall(
  open: OpenCrew,
  code: RunningCode,
  id: string | undefined,
): Promise<FunctionCall | undefined> {
  const { call } = code
  const { name } = open.definition
  // the function was stopped: its kickoff never settles, and a process that continues the task calls it again
  if (call?.interruptible.aborted) return new Promise(() => {})
  const why = call
    ? await whyNotChild(open, call, id)
    : 'only a kickoff inside the function of a task starts a child run'
  if (why === undefined) return call
  warnOfUncountedRun(code, { crew: name, run: id, why })
  return undefined
}

/** Returns why a kickoff cannot start a child run of the call; undefined if it can. */
async function whyNotChild(open: OpenCrew, call: FunctionCall, id: string | undefined): Promise<string | undefined> {
  if (call.isOver) return 'the function had already returned'
  const { engine, state } = call.life
  if (open.hasStore && localRunKey(await open.engine(), '') !== localRunKey(engine, ''))
    return 'its crew has another store'
  // a child run would get an id of its own, and miss the existing run with this id
  const isOwnStore = open.hasStore || isDefaultPlace(engine.store.url)
  const mayExist = isOwnStore && id !== undefined && id !== state.run
  return mayExist && (await engine.store.row(id)) ? 'a run with this id already exists' : undefined
}

/**
 * Creates a run. If several calls use the same id concurrently, one of them creates the run; for the others, resolves
 * with undefined once the run exists.
 */
function createOnce(engine: Engine, crew: CrewDefinition, created: NewRun): Promise<Hold | undefined> {
  return engine.world.process.creating(localRunKey(engine, created.run), () =>
    createRun(engine, crew, created).catch((error: unknown) => {
      if (RepriseError.isInstance(error) && error.code === 'RUN_HELD') return undefined
      throw error
    }),
  )
}

export async function kickoffPlan(
  engine: Engine,
  crew: CrewDefinition,
  inputs: Inputs,
  { reuse, through }: Pick<PlanRequest, 'reuse'> & Pick<ExecuteOptions, 'through'>,
): Promise<Plan> {
  if (crew.flow) {
    const { tasks, ...found } = await planFlowRun(engine.world, crew, crew.flow, {
      ...emptyState(),
      flow: true,
      inputs,
    })
    const estimated = await withEstimates(engine, crew, tasks)
    return toPlan(crew, { of: 'kickoff', runId: undefined, inputs, tasks: estimated, through, ...found })
  }
  const tasks = await withEstimates(engine, crew, await planKickoff(engine, crew, inputs, reuse))
  return toPlan(crew, { of: 'kickoff', runId: undefined, inputs, tasks, through, warnings: [] })
}

/**
 * Checks in advance, as far as possible, that a kickoff with these inputs would not be refused. Rejects with
 * INPUT_MISSING, INPUT_UNKNOWN, INPUT_INVALID, MODEL_INVALID or MODEL_KEY_MISSING.
 */
export async function checkKickoff(open: OpenCrew, given: RawInputs, id: string | undefined): Promise<void> {
  const stored = given.gone.size > 0 && id !== undefined ? await storedInputs(open, id) : undefined
  const inputs = resolveInputs(given, stored, true)
  const { tasks, callbacks } = open.definition
  checkInputNames(open.definition, inputs)
  // `beforeKickoff` determines the inputs, and is only called when the run starts
  if (callbacks?.before) return
  await checkTaskInputs(tasks, await parseInputs(open.definition, inputs))
  checkModels(tasks)
}

async function storedInputs(open: OpenCrew, run: string): Promise<RunState['inputs'] | undefined> {
  const { store } = await open.engine()
  if (!(await store.row(run))) return undefined
  const { state } = await readRun(store, run)
  return state.given ?? state.inputs
}
