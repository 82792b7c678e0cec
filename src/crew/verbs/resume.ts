// resume: continues a run. Also continues the run that an earlier kickoff or fork with the same id created, and enters
// runs for workers.
import {
  changedPolicies,
  type Engine,
  type ExecuteOptions,
  type CrewDefinition,
  type ChangedPolicy,
} from '../../engine/definition.ts'
import { recordLateMessages } from '../../engine/inbox/send-message.ts'
import { readRun } from '../../read/read-run.ts'
import { describeTaskChanges } from '../../journal/describe.ts'
import {
  checkResumable,
  openRun,
  orRelease,
  prepareResume,
  enterRun,
  type OpenedRun,
} from '../../engine/run/resume-run.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Limit } from '../../journal/entries.ts'
import type { RunState } from '../../journal/state/state.ts'
import {
  engineForTree,
  type OpenCrew,
  logStart,
  checkExecutable,
  checkBudgetPrices,
  hasStarted,
  isOpen,
} from '../open-crew.ts'
import { type StartedRun, executeHere } from '../started-run.ts'
import {
  type WhenHeld,
  readDecisions,
  whenHeldPolicies,
  type ExecuteChoices,
  type TaskDecisionOptions,
  confirmPlan,
  type PlanConfirmation,
  type WhenHeldOption,
  readOnPlan,
  decisionKeys,
  executeKeys,
  readChoices,
} from './shared-options.ts'
import { limitCheck } from '../options/crew-options.ts'
import { type OnPlan, toPlan, type Plan } from '../result/plan.ts'
import { waitForHolder, waitForResult, type TaskReference, type RunResult } from '../result/result.ts'
import { latestUnfinished } from './runs.ts'
import { checkRunId, isDue } from '../../read/row-summary.ts'
import { check as checkOf, describe, oneOf, optional, checkKeys } from '../../base/options.ts'
import { withEstimates } from '../../engine/plan/estimate.ts'
import { planFlowRun } from '../../engine/plan/plan-flow.ts'
import { planResume } from '../../engine/plan/plan-run.ts'
import type { TaskComparison } from '../../engine/run/compare-tasks.ts'
import type { TimedLease } from '../../engine/lease/leased-tree.ts'
import type { RunRow } from '../../stores/store.ts'
import type { DispatchedBy } from '../../journal/values.ts'

export interface ResumeOptions<Reference = TaskReference>
  extends ExecuteChoices<Reference>, PlanConfirmation, WhenHeldOption, TaskDecisionOptions {
  /**
   * What to do with a started task whose code has changed. `continue`: continue it as it was started. `restart`: start
   * it again. `refuse`: reject with DEFINITION_CHANGED. Default: `continue`.
   */
  readonly changed?: ChangedPolicy
  /** Replaces the budget of the run. Default: the run's own budget. */
  readonly budget?: Limit
  /**
   * Flows: further failed steps to execute again, by name, or all of them. The steps whose failures ended the run are
   * executed again anyway. Default: none.
   */
  readonly retry?: 'failed' | readonly string[]
}

const retryCheck = checkOf<'failed' | readonly string[]>(
  "'failed', or a list of steps",
  (value) => value === 'failed' || (Array.isArray(value) && value.every((name) => typeof name === 'string')),
)

interface ResumeRequest {
  /** Undefined: the latest unfinished run. */
  readonly run: string | undefined
  readonly onPlan?: OnPlan | undefined
  readonly whenHeld?: WhenHeld | undefined
  readonly choices: ExecuteOptions
}

/** Checks the options of `resume`. Throws OPTION_INVALID, OPTION_UNKNOWN or TASK_NOT_FOUND. */
export function readResume(crew: CrewDefinition, run: string | undefined, options: ResumeOptions): ResumeRequest {
  checkKeys('resume', options, ['changed', 'budget', 'retry', 'onPlan', 'whenHeld', ...decisionKeys, ...executeKeys])
  const { budget } = options
  optional('budget', budget, limitCheck)
  const changed = optional('changed', options.changed, oneOf(changedPolicies))
  const retry = optional('retry', options.retry, retryCheck)
  if (retry !== undefined && !crew.flow) {
    const words = `retry is ${describe(retry)}, but ${crew.name} is not a flow: a resume executes its failed tasks anyway`
    throw new RepriseError('OPTION_INVALID', words)
  }
  return {
    run: run === undefined ? undefined : checkRunId(run),
    onPlan: readOnPlan(options.onPlan),
    whenHeld: optional('whenHeld', options.whenHeld, oneOf(whenHeldPolicies)),
    choices: { ...readChoices(crew, options), changed, budget, retry, decisions: readDecisions(options) },
  }
}

export async function resume(open: OpenCrew, { run, ...request }: ResumeRequest): Promise<StartedRun> {
  const opened = await open.engine()
  const id = run ?? (await latestUnfinished(open, opened))
  return resumeOrFollow(open, engineForTree(opened), id, request)
}

interface EnterRequest {
  /** Called with the state of the run before anything is written. May refuse the run by throwing. */
  readonly check?: ((state: RunState) => void | Promise<void>) | undefined
  readonly onPlan?: OnPlan | undefined
  readonly choices: ExecuteOptions
  /** Set if a worker claims the run. */
  readonly claim?: WorkerClaim | undefined
}

/** A worker's claim of a run, which is only continued if it is due. */
interface WorkerClaim {
  readonly lease: TimedLease | undefined
  /** The row of the run, as just read. */
  readonly row: RunRow
  readonly via: DispatchedBy | undefined
  /** The store considers the run due, whatever the clock of this process says. */
  readonly isDue: boolean
}

/**
 * Opens a run and enters it. The result has no hold if there is nothing to execute: if the run is completed or parked,
 * or was claimed before it is due.
 */
export async function enterHere(
  open: OpenCrew,
  engine: Engine,
  run: string,
  request: EnterRequest,
): Promise<OpenedRun> {
  const { definition: crew } = open
  const { choices, claim } = request
  await checkBudgetPrices(crew, choices.budget)
  try {
    const opened = await openRun(engine, crew, run, claim)
    const entered = await orRelease(opened, () => enterOpened(open, engine, opened, request))
    if (!entered.hold && entered.state.status !== 'completed' && !claim) await recordLateMessages(engine, run)
    return entered
  } catch (error) {
    await recordLateMessages(engine, run)
    throw error
  }
}

/** Calls `onPlan` while the lease is held, so that exactly the approved plan is executed. */
async function enterOpened(
  { definition: crew }: OpenCrew,
  engine: Engine,
  { state, hold }: OpenedRun,
  { check, onPlan, choices, claim }: EnterRequest,
): Promise<OpenedRun> {
  const { run } = state
  const withoutHold = async (): Promise<OpenedRun> => {
    await hold?.release()
    return { state, hold: undefined }
  }
  if (hold && claim && !claim.isDue && !isDue(state, engine.world.now().getTime())) return withoutHold()
  if (!hold || state.status === 'completed') {
    await check?.(state)
    if (onPlan) await confirmPlan(onPlan, await resumePlan(engine, crew, state, choices))
    logStart(crew, run, 'already completed')
    return withoutHold()
  }
  const resumption = await prepareResume(hold, crew, { ...choices, isClaimed: claim !== undefined })
  if (!resumption) return withoutHold()
  const { state: next, changes } = resumption
  await check?.(next)
  await checkExecutable(crew, next.inputs, isOpen(next), hasStarted(next))
  if (onPlan) await confirmPlan(onPlan, await resumePlan(engine, crew, next, choices, { changes }))
  if (changes) crew.logger.warn(`run ${run}: its tasks have changed: ${describeTaskChanges(changes)}`)
  logStart(crew, run, next.lives === 0 ? 'started' : `resume, life ${next.lives + 1}`)
  await enterRun(hold, crew, resumption, { budget: choices.budget, retry: choices.retry, via: claim?.via })
  return { state, hold }
}

const handoverMs = 5

/** Executes the run in this process. With `whenHeld: 'follow'`, follows it if another call executes it. */
export async function resumeOrFollow(
  open: OpenCrew,
  engine: Engine,
  run: string,
  request: EnterRequest & { readonly whenHeld?: WhenHeld | undefined },
): Promise<StartedRun> {
  const { check, choices, whenHeld } = request
  const { definition: crew } = open
  try {
    return executeHere(open, engine, await enterHere(open, engine, run, request), choices, {
      continueAs: followAgain(open, choices),
    })
  } catch (held) {
    const isHeld = RepriseError.isInstance(held) && held.code === 'RUN_HELD' && held.runId === run
    if (!isHeld || whenHeld !== 'follow') throw held
    const { state } = await readRun(engine.store, run)
    checkResumable(crew, state)
    await check?.(state)
    logStart(crew, run, 'executed elsewhere; following it')
    return { open, run, result: follow(state, held) }
  }

  /** Resolves with the result of the other call. If that call leaves the run unfinished, continues the run here. */
  async function follow(state: RunState, held: RepriseError): Promise<RunResult> {
    const outcome = await waitForHolder(engine, state, choices.signal).catch((error: unknown) => {
      throw choices.signal?.aborted ? held : error
    })
    // a call of this process may be about to take the lease, or have just given it back: let it
    if (outcome === 'left') await engine.world.sleep(handoverMs, new AbortController().signal)
    const continued = outcome === 'rest' ? undefined : await resumeOrFollow(open, engine, run, request)
    return (await continued?.result) ?? waitForResult(engine, crew, run)
  }
}

/** Returns a function that executes, or follows, the run that continues the run of a flow. */
export function followAgain(open: OpenCrew, choices: ExecuteOptions): (next: string) => Promise<StartedRun> {
  return async (next) => resumeOrFollow(open, engineForTree(await open.engine()), next, { choices, whenHeld: 'follow' })
}

export async function resumePlan(
  engine: Engine,
  crew: CrewDefinition,
  state: RunState,
  { changed, through }: Pick<ExecuteOptions, 'changed' | 'through'>,
  { readChild, ...compared }: Partial<TaskComparison> = {},
): Promise<Plan> {
  const { run: runId, inputs } = state
  if (crew.flow) {
    const { tasks, ...found } = await planFlowRun(engine.world, crew, crew.flow, state)
    const estimated = await withEstimates(engine, crew, tasks, state)
    return toPlan(crew, { of: 'resume', runId, inputs, tasks: estimated, through, ...found })
  }
  const tasks = await withEstimates(engine, crew, await planResume(engine, crew, state, changed, readChild), state)
  return toPlan(crew, { of: 'resume', runId, inputs, tasks, through, ...compared, warnings: [] })
}
