// A replay from a task within a step of a flow, such as `chapter[3]/write`: the step's new child run is forked from the
// recorded one.
import type { AttemptState, RunState } from '../../journal/state/state.ts'
import { readStateIfExists } from '../../read/read-run.ts'
import type { CrewDefinition, Engine, Inputs } from '../definition.ts'
import type { NewRun } from '../run/create-run.ts'
import { addressWithin, childOfStep, planChildFork } from './plan-flow.ts'

/** Returns how a step's child run begins, if this run is a replay from a task within that step. */
export async function childFork(
  engine: Engine,
  state: RunState,
  crew: CrewDefinition,
  { task: step, path }: AttemptState,
  inputs: Inputs,
): Promise<Pick<NewRun, 'origin' | 'entries'> | undefined> {
  const { run = '', from = '' } = state.parent ?? {}
  // the trial of a backtest is no flow
  const within = state.flow ? addressWithin(from) : undefined
  // a later attempt is made from scratch
  if (within?.step !== step || state.tasks.get(step)?.attempts[0] !== path) return undefined
  const outer = await readStateIfExists(engine.store, run)
  const parent = outer && (await childOfStep(engine.store, outer, step))
  if (!parent) return undefined
  const { tasks, entries } = await planChildFork(engine, crew, parent, { inputs, from: within.task })
  const plan = crew.flow ? tasks.filter(({ action }) => action !== 'inherit') : tasks
  const origin = { parent: { run: parent.run, incarnation: parent.incarnation, from: within.task }, plan }
  return { origin, entries }
}
