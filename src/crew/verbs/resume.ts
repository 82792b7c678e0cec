// resume: continues the given run, the latest unfinished one, or the one that an identical call created.
import {
  type Engine,
  type ExecuteOptions,
  changedPolicies,
  type CrewDefinition,
  type ChangedPolicy,
} from '../../engine/definition.ts'
import { recordLateMessages } from '../../engine/inbox/send-message.ts'
import { readRun } from '../../engine/read/read-run.ts'
import { describeTaskChanges } from '../../journal/describe.ts'
import { checkResumable, resumeRun, type ResumeRunRequest, type WorkerClaim } from '../../engine/run/lifecycle.ts'
import { RepriseError } from '../../base/errors.ts'
import type { TaskListChanges, Limit } from '../../journal/entries.ts'
import type { RunState } from '../../journal/state/state.ts'
import { engineFor, type StartedRun, type RunHeldElsewhere, type OpenCrew } from '../open-crew.ts'
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
import { logStart } from '../result/log.ts'
import { type OnPlan, toPlan, type Plan } from '../result/plan.ts'
import { waitForHolder } from '../result/wait-for-run.ts'
import { checkExecutable, checkBudgetPrices, hasStarted, isOpen } from '../arguments/check-executable.ts'
import { latestUnfinished } from './latest-run.ts'
import { checkRunId } from '../../engine/read/run-id.ts'
import { oneOf, optional } from '../../base/checks.ts'
import { checkKeys } from '../../base/options.ts'
import type { TaskReference } from '../result/task-reference.ts'
import { withEstimates } from '../../engine/plan/estimate.ts'
import { planResume } from '../../engine/plan/plan-run.ts'
import type { TaskComparison } from '../../engine/run/compare-tasks.ts'

export interface ResumeOptions<Reference = TaskReference>
  extends ExecuteChoices<Reference>, PlanConfirmation, WhenHeldOption, TaskDecisionOptions {
  /**
   * What to do with a started task whose code has changed. `continue`: continue it as it was started. `restart`: start
   * it again. `refuse`: reject with DEFINITION_CHANGED. Default: `continue`.
   */
  readonly changed?: ChangedPolicy
  /** Replaces the budget of the run. Default: the run's own budget. */
  readonly budget?: Limit
}

export interface ResumeRequest {
  /** Undefined: the latest unfinished run. */
  readonly run: string | undefined
  readonly onPlan?: OnPlan | undefined
  readonly whenHeld?: WhenHeld | undefined
  readonly choices: ExecuteOptions
}

/** OPTION_INVALID, OPTION_UNKNOWN, TASK_NOT_FOUND. */
export function readResume(crew: CrewDefinition, run: string | undefined, options: ResumeOptions): ResumeRequest {
  checkKeys('resume', options, ['changed', 'budget', 'onPlan', 'whenHeld', ...decisionKeys, ...executeKeys])
  const { budget } = options
  optional('budget', budget, limitCheck)
  const changed = optional('changed', options.changed, oneOf(changedPolicies))
  return {
    run: run === undefined ? undefined : checkRunId(run),
    onPlan: readOnPlan(options.onPlan),
    whenHeld: optional('whenHeld', options.whenHeld, oneOf(whenHeldPolicies)),
    choices: { ...readChoices(crew, options), changed, budget, decisions: readDecisions(options) },
  }
}

export async function resume(
  open: OpenCrew,
  { run, ...request }: ResumeRequest,
): Promise<StartedRun | RunHeldElsewhere> {
  const opened = await open.engine()
  const id = run ?? (await latestUnfinished(open, opened))
  return resumeOrFollow(open, engineFor(opened, id), id, request)
}

export interface ResumeHereRequest {
  /** Called with the run before anything is written; may refuse it. */
  readonly check?: ((state: RunState) => void | Promise<void>) | undefined
  readonly onPlan?: OnPlan | undefined
  readonly choices: ExecuteOptions
  /** Set when a worker claims the run. */
  readonly claim?: WorkerClaim | undefined
}

/** Resumes a run in this process. `onPlan` is called while the lease is held, so that the approved plan is executed. */
export async function resumeHere(
  open: OpenCrew,
  engine: Engine,
  run: string,
  { check, onPlan, choices, claim }: ResumeHereRequest,
): Promise<StartedRun> {
  const { definition: crew } = open
  await checkBudgetPrices(crew, choices.budget)
  const inspect = async (state: RunState, changes?: TaskListChanges): Promise<void> => {
    await check?.(state)
    const done = state.status === 'completed'
    if (!done) await checkExecutable(crew, state.inputs, isOpen(state), hasStarted(state))
    if (onPlan) await confirmPlan(onPlan, await resumePlan(engine, crew, state, choices, { changes }))
    if (changes) crew.logger.warn(`run ${run}: its tasks have changed: ${describeTaskChanges(changes)}`)
    logStart(crew, run, done ? 'already completed' : state.lives === 0 ? 'started' : `resume, life ${state.lives + 1}`)
  }
  try {
    const { budget, through, changed, decisions } = choices
    const request: ResumeRunRequest = { check: inspect, budget, through, changed, decisions, claim }
    const taken = await resumeRun(engine, crew, run, request)
    if (taken.is === 'rest' && taken.state.status !== 'completed' && !claim) await recordLateMessages(engine, run)
    return { engine, outcome: taken, choices }
  } catch (error) {
    await recordLateMessages(engine, run)
    throw error
  }
}

/** Like `resumeHere`, but with `whenHeld: 'follow'`, follows a run that another call executes. */
export async function resumeOrFollow(
  open: OpenCrew,
  engine: Engine,
  run: string,
  request: ResumeHereRequest & { readonly whenHeld?: WhenHeld | undefined },
): Promise<StartedRun | RunHeldElsewhere> {
  const { check, choices, whenHeld } = request
  const { definition: crew } = open
  try {
    return await resumeHere(open, engine, run, request)
  } catch (held) {
    const isHeld = RepriseError.isInstance(held) && held.code === 'RUN_HELD' && held.runId === run
    if (!isHeld || whenHeld !== 'follow') throw held
    const { state } = await readRun(engine.store, run)
    checkResumable(crew, state)
    await check?.(state)
    logStart(crew, run, 'executed elsewhere; following it')
    const over = async (): Promise<StartedRun | RunHeldElsewhere | undefined> => {
      const done = await waitForHolder(engine, state, choices.signal).catch((error: unknown) => {
        throw choices.signal?.aborted ? held : error
      })
      return done === 'rest' ? undefined : resumeOrFollow(open, engine, run, request)
    }
    return { type: 'elsewhere', run, over }
  }
}

export async function resumePlan(
  engine: Engine,
  crew: CrewDefinition,
  state: RunState,
  { changed, through }: Pick<ExecuteOptions, 'changed' | 'through'>,
  compared: Partial<TaskComparison> = {},
): Promise<Plan> {
  const { run: runId, inputs } = state
  const tasks = await withEstimates(engine, crew, await planResume(engine, crew, state, changed), state)
  return toPlan(crew, { of: 'resume', runId, inputs, tasks, through, ...compared, warnings: [] })
}
