// Plans of kickoff, resume and fork: for `plan`, and for `onPlan`.
import type { ChangedPolicy, CrewDefinition, Engine, ExecuteOptions, Inputs } from '../../engine/definition.ts'
import { withEstimates } from '../../engine/plan/estimate.ts'
import { planKickoff, planResume } from '../../engine/plan/plan-run.ts'
import { readRun } from '../../engine/read/read-run.ts'
import { comparedForView, type TaskComparison } from '../../engine/run/compare-tasks.ts'
import { checkResumable } from '../../engine/run/lifecycle.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { withTaskChanges } from '../../journal/state/change-tasks.ts'
import type { RunState } from '../../journal/state/state.ts'
import { describe } from '../../base/options.ts'
import { redact } from '../../secrets/redact.ts'
import type { OpenCrew } from '../open-crew.ts'
import { toPlan, type OnPlan, type Plan } from '../result/plan.ts'
import { checkPlanned, hasStarted, isOpen } from '../arguments/check-executable.ts'
import { resolveInputs } from '../arguments/raw-inputs.ts'
import { checkInputNames } from '../arguments/input-names.ts'
import { latestRun, latestUnfinished } from './latest-run.ts'
import { prepareInputs } from '../arguments/run-inputs.ts'
import { planNewRun, forkPlan, type NewRunRequest } from './plan-new-run.ts'

export interface PlanRequest extends NewRunRequest {
  readonly of: Plan['of'] | undefined
  readonly changed: ChangedPolicy | undefined
  readonly reuse: RunState['reuse']
}

export async function plan(open: OpenCrew, request: PlanRequest): Promise<Plan> {
  const { definition: crew } = open
  const engine = await open.engine()
  const { run, changed, reuse, choices, decisions } = request
  const { through } = choices
  const forks =
    run !== undefined || request.from !== undefined || request.retry !== undefined || (request.outputs?.size ?? 0) > 0
  const of = request.of ?? (forks || (await latestRun(engine, crew.name)) !== undefined ? 'fork' : 'kickoff')
  switch (of) {
    case 'kickoff': {
      const given = resolveInputs(request.given)
      checkInputNames(crew, given)
      const { inputs } = await prepareInputs(crew, given)
      await checkPlanned(crew, inputs, () => true)
      return kickoffPlan(engine, crew, inputs, { reuse, through })
    }
    case 'resume': {
      const { state } = await readRun(engine.store, run ?? (await latestUnfinished(open, engine)))
      checkResumable(crew, state)
      if (state.status === 'completed') return resumePlan(engine, crew, state, { changed, through })
      const compared = await comparedForView(crew, state, decisions, engine.store)
      const now = withTaskChanges(state, compared.changes)
      await checkPlanned(crew, state.inputs, isOpen(now), hasStarted(now))
      return resumePlan(engine, crew, now, { changed, through }, compared)
    }
    case 'fork':
      return forkPlan(open, await planNewRun(open, engine, request), through)
  }
}

export async function kickoffPlan(
  engine: Engine,
  crew: CrewDefinition,
  inputs: Inputs,
  { reuse, through }: Pick<PlanRequest, 'reuse'> & Pick<ExecuteOptions, 'through'>,
): Promise<Plan> {
  const tasks = await withEstimates(engine, crew, await planKickoff(engine, crew, inputs, reuse))
  return toPlan(crew, { of: 'kickoff', runId: undefined, inputs, tasks, through, warnings: [] })
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

/** Calls `onPlan`. PLAN_REFUSED if it returns false; OPTION_INVALID if it returns no boolean; CALLBACK_FAILED. */
export async function confirmPlan(onPlan: OnPlan, shown: Plan): Promise<void> {
  const approved = await callOnPlan(onPlan, shown)
  if (approved === true) return
  // a forgotten return must not count as false
  if (approved !== false)
    throw new RepriseError('OPTION_INVALID', `onPlan returned ${describe(approved)}; it must return true or false`)
  throw new RepriseError('PLAN_REFUSED', 'onPlan refused the plan; nothing was done', { runId: shown.runId })
}

async function callOnPlan(onPlan: OnPlan, shown: Plan): Promise<unknown> {
  try {
    return await onPlan(shown)
  } catch (error) {
    if (RepriseError.isInstance(error)) throw error
    throw new RepriseError('CALLBACK_FAILED', `onPlan threw: ${redact(messageOf(error))}`, {
      runId: shown.runId,
      cause: error,
    })
  }
}
