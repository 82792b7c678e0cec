// A replay from a task within a step of a flow, such as `chapter[3]/write`: the step's new child run is forked from the
// recorded one.
import type { AttemptState, RunState } from '../../journal/state/state.ts'
import { readStateIfExists } from '../../read/read-run.ts'
import type { CrewDefinition, Engine, Inputs } from '../definition.ts'
import type { NewRun } from '../run/create-run.ts'
import { childOfStep, planFlowFork } from './plan-flow.ts'
import { planFork } from './plan-fork.ts'

/** Splits `chapter[3]/write` into the step and the task within its child run. Undefined for a step alone. */
export function addressWithin(from: string): { readonly step: string; readonly task: string } | undefined {
  const slash = from.indexOf('/')
  return slash < 0 ? undefined : { step: from.slice(0, slash), task: from.slice(slash + 1) }
}

/** Returns how a step's child run begins, if this run is a replay from a task within that step. */
export async function childFork(
  engine: Engine,
  state: RunState,
  crew: CrewDefinition,
  { task: step, path }: AttemptState,
  inputs: Inputs,
): Promise<Pick<NewRun, 'origin' | 'entries'> | undefined> {
  const { run = '', from = '' } = state.parent ?? {}
  const within = addressWithin(from)
  // a later attempt is made from scratch
  if (within?.step !== step || state.tasks.get(step)?.attempts[0] !== path) return undefined
  const outer = await readStateIfExists(engine.store, run)
  const parent = outer && (await childOfStep(engine.store, outer, step))
  if (!parent) return undefined
  const request = { inputs, stale: 'keep', from: { name: within.task } } as const
  const { tasks, entries } = crew.flow
    ? await planFlowFork(engine, crew, crew.flow, parent, request)
    : await planFork(crew, parent, request)
  const plan = crew.flow ? tasks.filter(({ action }) => action !== 'inherit') : tasks
  const origin = { parent: { run: parent.run, incarnation: parent.incarnation, from: within.task }, plan }
  return { origin, entries }
}
