// Going on with a run that is there: one that is named, the latest unfinished one, or the one that the same call has
// made before.
import type { CrewDefinition, Engine, ExecuteOptions } from '../../engine/definition.ts'
import { recordLate } from '../../engine/people/tell.ts'
import { resumeRun } from '../../engine/run/lifecycle.ts'
import type { RunState } from '../../journal/state/state.ts'
import { engineFor, type Begun, type OpenCrew } from '../open-crew.ts'
import { announce } from '../result/log.ts'
import type { OnPlan } from '../result/plan.ts'
import { checkBefore, checkBudgetPrices, isOpen } from '../given/check-before.ts'
import { latestUnfinished } from './latest-run.ts'
import { confirm, planOfResume } from './make-plan.ts'

export interface ResumeRequest {
  /** The latest unfinished one if none is named. */
  readonly run: string | undefined
  readonly onPlan?: OnPlan | undefined
  readonly choices: ExecuteOptions
}

export async function resume(open: OpenCrew, { run, onPlan, choices }: ResumeRequest): Promise<Begun> {
  const opened = await open.engine()
  const id = run ?? (await latestUnfinished(open, opened))
  return takeUp(open.definition, engineFor(opened, id), id, { choices, onPlan })
}

export interface TakeUp {
  /** Sees the run before anything is written, and may refuse it. */
  readonly check?: ((state: RunState) => void) | undefined
  readonly onPlan: OnPlan | undefined
  readonly choices: ExecuteOptions
}

/** `onPlan` is asked while the run is held, so that what it says yes to is what happens. */
export async function takeUp(
  crew: CrewDefinition,
  engine: Engine,
  run: string,
  { check, onPlan, choices }: TakeUp,
): Promise<Begun> {
  await checkBudgetPrices(crew, choices.budget)
  const inspect = async (state: RunState): Promise<void> => {
    check?.(state)
    const done = state.status === 'completed'
    if (!done) checkBefore(crew, state.inputs, isOpen(state))
    if (onPlan) await confirm(onPlan, await planOfResume(engine, crew, state, choices))
    announce(crew, run, done ? 'completed before' : `resume, life ${state.lives + 1}`)
  }
  try {
    const taken = await resumeRun(engine, crew, run, inspect, choices.budget)
    if (taken.is === 'rest' && taken.state.status !== 'completed') await recordLate(engine, run)
    return { engine, taken, choices }
  } catch (error) {
    await recordLate(engine, run)
    throw error
  }
}
