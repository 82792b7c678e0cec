// plan: reports what a kickoff, resume or fork would do. Writes nothing and calls no model.
import { type ChangedPolicy, type CrewDefinition, changedPolicies } from '../../engine/definition.ts'
import { readRun } from '../../read/read-run.ts'
import { comparedForView } from '../../engine/run/compare-tasks.ts'
import { checkResumable } from '../../engine/run/resume-run.ts'
import { withTaskChanges } from '../../journal/state/change-tasks.ts'
import type { RunState } from '../../journal/state/state.ts'
import { type OpenCrew, checkPlanned, hasStarted, isOpen } from '../open-crew.ts'
import type { Plan } from '../result/plan.ts'
import { resolveInputs, checkInputNames, prepareInputs, type InputsBy } from '../arguments/run-inputs.ts'
import { latestRun, latestUnfinished } from './runs.ts'
import { planNewRun, forkPlan, type NewRunRequest, type ForkOptions, type OutputsFor, readNewRun } from './fork.ts'
import { oneOf, optional, checkKeys, isRecord } from '../../base/options.ts'
import { readReuse, type Reuse, type InputNamesOf, decisionKeys } from './shared-options.ts'
import type { TaskReference, Tasks } from '../result/result.ts'
import { kickoffPlan } from './kickoff.ts'
import { resumePlan } from './resume.ts'

export interface PlanOptions<
  Reference = TaskReference,
  Names extends InputsBy = string,
  Outputs = OutputsFor<Tasks>,
> extends Omit<ForkOptions<Reference, Names, Outputs>, 'id' | 'onQuestion' | 'onPlan' | 'signal' | 'by'> {
  /** The call to plan. Default: `fork` if the crew has a run or an option implies it, else `kickoff`. */
  readonly of?: 'fork' | 'resume' | 'kickoff'
  /** For a resume: what to do with a started task whose definition has changed. Default: `continue`. */
  readonly changed?: ChangedPolicy
  /** For a kickoff: whether to reuse outputs of earlier tasks with the same code and inputs. Default: false. */
  readonly reuse?: Reuse
}

/** Options of `run.plan`. */
export type RunPlanOptions<Reference, T extends Tasks> = Omit<
  PlanOptions<Reference, InputNamesOf<T>, OutputsFor<T>>,
  'runId' | 'of' | 'reuse'
> & {
  readonly of?: 'fork' | 'resume'
}

const planKeys = {
  fork: ['runId', 'inputs', 'effects', 'through', 'only', 'stale', 'from', 'retry', 'outputs', 'of', ...decisionKeys],
  resume: ['runId', 'through', 'changed', 'of', ...decisionKeys],
  kickoff: ['inputs', 'through', 'reuse', 'of'],
}

/**
 * Checks the option names of `crew.plan` or `run.plan`, and `of`. Throws OPTION_INVALID, or OPTION_UNKNOWN for an
 * option that the planned call does not have.
 */
function checkPlanOptions(options: PlanOptions<TaskReference, InputsBy>, owner: 'crew' | 'run'): void {
  const of: unknown = isRecord(options) ? options.of : undefined
  const kinds = Object.entries(planKeys).filter(([kind]) => owner === 'crew' || kind !== 'kickoff')
  const known = kinds.find(([kind]) => kind === of)
  const keys = known?.[1] ?? kinds.flatMap(([, all]) => all)
  const what = known ? `the plan of a ${known[0]}` : 'plan'
  checkKeys(
    what,
    options,
    [...new Set(keys)].filter((key) => owner === 'crew' || key !== 'runId'),
    'inputs',
  )
  optional('of', options.of, oneOf(kinds.map(([kind]) => kind)))
}

export interface PlanRequest extends NewRunRequest {
  readonly of: Plan['of'] | undefined
  readonly changed: ChangedPolicy | undefined
  readonly reuse: RunState['reuse']
}

/** Reads the options of `plan`. Rejects with OPTION_INVALID, OPTION_UNKNOWN, TASK_NOT_FOUND or INPUT_INVALID. */
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

export async function plan(open: OpenCrew, request: PlanRequest): Promise<Plan> {
  const { definition: crew } = open
  const engine = await open.engine()
  const { run, changed, reuse, choices, decisions } = request
  const { through } = choices
  const impliesFork =
    run !== undefined || request.from !== undefined || request.retry !== undefined || (request.outputs?.size ?? 0) > 0
  const of = request.of ?? (impliesFork || (await latestRun(engine, crew.name)) !== undefined ? 'fork' : 'kickoff')
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
      const updated = withTaskChanges(state, compared.changes)
      await checkPlanned(crew, state.inputs, isOpen(updated), hasStarted(updated))
      return resumePlan(engine, crew, updated, { changed, through }, compared)
    }
    case 'fork':
      return forkPlan(open, await planNewRun(open, engine, request), through)
  }
}
