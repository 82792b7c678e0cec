// Reads and checks the arguments of the methods of a crew and a run.
import {
  changedPolicies,
  type CrewDefinition,
  type ExecuteOptions,
  type TaskDefinition,
} from '../../engine/definition.ts'
import { effectsPolicies, retryPolicies, stalePolicies } from '../../engine/plan/plan-fork.ts'
import { checkNewRunId, checkRunId } from '../../engine/read/run-id.ts'
import { RepriseError } from '../../base/errors.ts'
import { abortSignal, oneOf, optional, text } from '../../base/checks.ts'
import { checkKeys, describe } from '../../base/options.ts'
import {
  checkPlanOptions,
  limitCheck,
  readDecisions,
  readReuse,
  verbKeys,
  whenHeldPolicies,
  type ExecuteChoices,
  type ForkOptions,
  type KickoffOptions,
  type PlanOptions,
  type ResumeOptions,
  type SignedBy,
  type TaskDecisionOptions,
} from '../options/verb-options.ts'
import type { OnPlan } from '../result/plan.ts'
import { findDefinition } from '../result/result.ts'
import type { TaskReference } from '../result/task-reference.ts'
import type { Task } from '../task.ts'
import { readRawInputs } from './raw-inputs.ts'
import { readOutputs, type InputsBy } from './inputs.ts'
import type { ForkRunRequest } from '../verbs/fork-run.ts'
import type { NewRunRequest } from '../verbs/plan-new-run.ts'
import type { PlanRequest } from '../verbs/make-plan.ts'
import type { ResumeRequest } from '../verbs/resume.ts'
import type { StartRequest } from '../verbs/kickoff.ts'

/** OPTION_INVALID, OPTION_UNKNOWN, TASK_NOT_FOUND, INPUT_INVALID. */
export async function readKickoff(
  crew: CrewDefinition,
  options: Partial<KickoffOptions<TaskReference, InputsBy>> = {},
): Promise<StartRequest> {
  checkKeys('kickoff', options, verbKeys.kickoff, 'inputs')
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

/** OPTION_INVALID, OPTION_UNKNOWN, TASK_NOT_FOUND. */
export function readResume(crew: CrewDefinition, run: string | undefined, options: ResumeOptions): ResumeRequest {
  checkKeys('resume', options, verbKeys.resume)
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

/**
 * Reads a replay, fork or refresh; `fixed` is set by the method, not by its options. OPTION_INVALID, OPTION_UNKNOWN,
 * TASK_NOT_FOUND, INPUT_INVALID.
 */
export async function readFork(
  crew: CrewDefinition,
  verb: 'replay' | 'fork' | 'refresh',
  options: ForkOptions<TaskReference, InputsBy>,
  fixed: { readonly runId?: string; readonly task?: Task | string } = {},
): Promise<ForkRunRequest> {
  const keys = verbKeys[verb].filter((key) => key !== 'runId' || fixed.runId === undefined)
  checkKeys(verb, options, keys, 'inputs')
  const { runId = options.runId } = fixed
  const from = verb === 'replay' ? findDefinition(crew, fixed.task as Task | string).name : options.from
  const request = await readNewRun(crew, { ...options, runId, from })
  return { ...request, onlyIfStale: verb === 'refresh', onPlan: readOnPlan(options.onPlan) }
}

/** OPTION_INVALID, OPTION_UNKNOWN, TASK_NOT_FOUND, INPUT_INVALID. */
export async function readPlan(
  crew: CrewDefinition,
  options: PlanOptions<TaskReference, InputsBy>,
  run?: string,
): Promise<PlanRequest> {
  checkPlanOptions(options, run === undefined ? 'crew' : 'run')
  return {
    ...(await readNewRun(crew, { ...options, runId: run ?? options.runId })),
    of: options.of,
    changed: optional('changed', options.changed, oneOf(changedPolicies)),
    reuse: readReuse(options.reuse),
  }
}

/** OPTION_INVALID, OPTION_UNKNOWN, TASK_NOT_FOUND. */
export function readChoices(crew: CrewDefinition, { through, onQuestion, signal }: ExecuteChoices): ExecuteOptions {
  if (onQuestion !== undefined && typeof onQuestion !== 'function') {
    const words = `onQuestion is ${describe(onQuestion)}; give a function that takes a question and returns an answer`
    throw new RepriseError('OPTION_INVALID', words)
  }
  return {
    onQuestion,
    signal: optional('signal', signal, abortSignal),
    through: through === undefined ? undefined : findDefinition(crew, through).name,
  }
}

/** OPTION_INVALID, OPTION_UNKNOWN. */
export function readSignedBy(verb: string, options: SignedBy): { readonly by?: string } {
  checkKeys(verb, options, ['by'])
  return signedFields(options)
}

async function readNewRun(
  crew: CrewDefinition,
  options: Optional<ForkOptions<TaskReference, InputsBy>>,
): Promise<NewRunRequest> {
  const { runId, id, from, only, retry, stale, inputs, outputs, effects } = options
  const choices = readChoices(crew, options as ExecuteChoices)
  const start = from === undefined ? undefined : findDefinition(crew, from)
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
    outputs: await readOutputs((name) => findDefinition(crew, name), outputs, signedFields(options)),
    stale:
      optional('stale', stale, oneOf(stalePolicies)) ?? (from === undefined && retry === undefined ? 'rerun' : 'keep'),
    effects: optional('effects', effects, oneOf(effectsPolicies)),
    decisions: readDecisions(options as TaskDecisionOptions),
    choices,
  }
}

type Optional<Options> = { readonly [Key in keyof Options]?: Options[Key] | undefined }

function readOnPlan(onPlan: unknown): OnPlan | undefined {
  if (onPlan === undefined || typeof onPlan === 'function') return onPlan as OnPlan | undefined
  const words = `onPlan is ${describe(onPlan)}; give a function that takes a plan and returns true or false`
  throw new RepriseError('OPTION_INVALID', words)
}

function signedFields({ by }: SignedBy): { readonly by?: string } {
  if (by === undefined) return {}
  return { by: text.read('by', by) }
}

/** OPTION_INVALID if the run would stop before it starts. */
function checkThrough({ tasks }: CrewDefinition, from: TaskDefinition | undefined, through: string | undefined): void {
  if (!from || through === undefined || tasks.findIndex(({ name }) => name === through) >= tasks.indexOf(from)) return
  const words = `through is ${through}, which comes before ${from.name}, where the new run starts; name that task or a later one`
  throw new RepriseError('OPTION_INVALID', words)
}
