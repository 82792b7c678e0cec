// Kicking a crew off: a new run, or, under an id that is taken, the run that the same call has made before.
import { createRun } from '../../engine/run/lifecycle.ts'
import type { ExecuteOptions } from '../../engine/definition.ts'
import { readRun } from '../../engine/read/read-run.ts'
import type { RunState } from '../../journal/state/state.ts'
import { engineFor, type Begun, type OpenCrew } from '../open-crew.ts'
import { announce } from '../result/log.ts'
import type { OnPlan } from '../result/plan.ts'
import { checkBefore, checkBudgetPrices, checkGiven, checkModels } from '../given/check-before.ts'
import { checkSameInputs } from '../given/check-same-run.ts'
import { confirm, planOfKickoff } from './make-plan.ts'
import { settled, type GivenInputs } from '../given/given-inputs.ts'
import { beforeKickoff } from '../given/made-inputs.ts'
import { takeUp } from './resume.ts'

export interface StartRequest {
  readonly id: string | undefined
  /** Undefined where none were given, which a run that is there already does not mind. */
  readonly inputs: GivenInputs | undefined
  readonly reuse: RunState['reuse']
  readonly onPlan?: OnPlan | undefined
  readonly choices: ExecuteOptions
}

export async function start(open: OpenCrew, request: StartRequest): Promise<Begun> {
  const { definition: crew } = open
  const { id, inputs: given, reuse, onPlan, choices } = request
  const opened = await open.engine()
  const run = id ?? opened.world.newRunId()
  const engine = engineFor(opened, run)
  if (id === undefined || !(await engine.store.row(run))) {
    const made = await beforeKickoff(crew, given ? settled(given) : {}, given?.files)
    checkBefore(crew, made.inputs, () => true)
    await checkBudgetPrices(crew)
    if (onPlan) await confirm(onPlan, await planOfKickoff(engine, crew, made.inputs, { reuse, ...choices }))
    announce(crew, run, 'kickoff')
    const hold = await createRun(engine, crew, { run, ...made, ...(reuse ? { origin: { reuse } } : {}) })
    if (hold) return { engine, taken: { is: 'held', hold }, choices }
  }
  const check = (state: RunState): void => given && checkSameInputs(state, given)
  return takeUp(open.definition, engine, run, { check, choices, onPlan })
}

/**
 * INPUT_MISSING, INPUT_INVALID, MODEL_INVALID, MODEL_KEY_MISSING: what a kickoff with these inputs would be refused
 * for.
 */
export async function checkStart(open: OpenCrew, given: GivenInputs, id: string | undefined): Promise<void> {
  const stored = given.gone.size > 0 && id !== undefined ? await storedInputs(open, id) : undefined
  const inputs = settled(given, stored, true)
  const { tasks, callbacks } = open.definition
  // what the callback will make of them is not known yet
  if (callbacks?.before) return
  checkGiven(tasks, inputs)
  checkModels(tasks)
}

async function storedInputs(open: OpenCrew, run: string): Promise<RunState['inputs'] | undefined> {
  const { store } = await open.engine()
  if (!(await store.row(run))) return undefined
  const { state } = await readRun(store, run)
  return state.given ?? state.inputs
}
