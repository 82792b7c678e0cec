// Going on with a run that is there: one that is named, the latest unfinished one, or the one that the same call has
// made before.
import type { Engine, ExecuteOptions } from '../../engine/definition.ts'
import { recordLate } from '../../engine/people/tell.ts'
import { readRun } from '../../engine/read/read-run.ts'
import { changeWords } from '../../journal/state/change-words.ts'
import { checkResumable, resumeRun, type Unasked } from '../../engine/run/lifecycle.ts'
import { RepriseError } from '../../base/errors.ts'
import type { TaskListChanges } from '../../journal/entries.ts'
import type { RunState } from '../../journal/state/state.ts'
import { engineFor, type Begun, type Elsewhere, type OpenCrew } from '../open-crew.ts'
import type { WhenHeld } from '../options/verb-options.ts'
import { announce } from '../result/log.ts'
import type { OnPlan } from '../result/plan.ts'
import { whenOthersAreDone } from '../result/wait-for-run.ts'
import { checkBefore, checkBudgetPrices, hasBegun, isOpen } from '../given/check-before.ts'
import { latestUnfinished } from './latest-run.ts'
import { confirm, planOfResume } from './make-plan.ts'

export interface ResumeRequest {
  /** The latest unfinished one if none is named. */
  readonly run: string | undefined
  readonly onPlan?: OnPlan | undefined
  readonly whenHeld?: WhenHeld | undefined
  readonly choices: ExecuteOptions
}

export async function resume(open: OpenCrew, { run, ...request }: ResumeRequest): Promise<Begun | Elsewhere> {
  const opened = await open.engine()
  const id = run ?? (await latestUnfinished(open, opened))
  return takeUpOrFollow(open, engineFor(opened, id), id, request)
}

export interface TakeUp {
  /** Sees the run before anything is written, and may refuse it. */
  readonly check?: ((state: RunState) => void | Promise<void>) | undefined
  readonly onPlan?: OnPlan | undefined
  readonly choices: ExecuteOptions
  /** Of somebody who was not asked for this run. */
  readonly unasked?: Unasked | undefined
}

/** `onPlan` is asked while the run is held, so that what it says yes to is what happens. */
export async function takeUp(
  open: OpenCrew,
  engine: Engine,
  run: string,
  { check, onPlan, choices, unasked }: TakeUp,
): Promise<Begun> {
  const { definition: crew } = open
  await checkBudgetPrices(crew, choices.budget)
  const inspect = async (state: RunState, changes?: TaskListChanges): Promise<void> => {
    await check?.(state)
    const done = state.status === 'completed'
    if (!done) await checkBefore(crew, state.inputs, isOpen(state), hasBegun(state))
    if (onPlan) await confirm(onPlan, await planOfResume(engine, crew, state, choices, { changes }))
    if (changes) crew.logger.warn(`run ${run}: its tasks have changed: ${changeWords(changes)}`)
    announce(crew, run, done ? 'completed before' : state.lives === 0 ? 'begun' : `resume, life ${state.lives + 1}`)
  }
  try {
    const { budget, through, changed, decisions } = choices
    const asked = { check: inspect, budget, through, changed, decisions, unasked }
    const taken = await resumeRun(engine, crew, run, asked)
    if (taken.is === 'rest' && taken.state.status !== 'completed' && !unasked) await recordLate(engine, run)
    return { engine, taken, choices }
  } catch (error) {
    await recordLate(engine, run)
    throw error
  }
}

/** As `takeUp`, and, where the caller wants that, a run that is held by somebody else is followed. */
export async function takeUpOrFollow(
  open: OpenCrew,
  engine: Engine,
  run: string,
  request: TakeUp & { readonly whenHeld?: WhenHeld | undefined },
): Promise<Begun | Elsewhere> {
  const { check, choices, whenHeld } = request
  const { definition: crew } = open
  try {
    return await takeUp(open, engine, run, request)
  } catch (held) {
    const isHeld = RepriseError.isInstance(held) && held.code === 'RUN_HELD' && held.runId === run
    if (!isHeld || whenHeld !== 'follow') throw held
    const { state } = await readRun(engine.store, run)
    checkResumable(crew, state)
    await check?.(state)
    announce(crew, run, 'executed by somebody else, and followed')
    const over = async (): Promise<Begun | Elsewhere | undefined> => {
      const done = await whenOthersAreDone(engine, state, choices.signal).catch((error: unknown) => {
        throw choices.signal?.aborted ? held : error
      })
      return done === 'rest' ? undefined : takeUpOrFollow(open, engine, run, request)
    }
    return { is: 'elsewhere', run, over }
  }
}
