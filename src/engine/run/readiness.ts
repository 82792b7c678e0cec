// Which tasks of a run can be started, from nothing but its state and what the crew declares.
import type { RunState } from '../../journal/state/state.ts'
import type { CrewDefinition, TaskDefinition } from '../definition.ts'
import type { Life } from '../life.ts'
import { childOf, hasAnswers } from '../task/children.ts'
import { waitsFor } from './waits-for.ts'

/** `waiting`: tasks that wait for an answer, with how many answers there were when they began to wait. */
export function isReady(
  state: RunState,
  crew: CrewDefinition,
  task: TaskDefinition,
  waiting: ReadonlyMap<string, number>,
): boolean {
  if (isDone(state, task.name)) return false
  if ((waiting.get(task.name) ?? -1) >= answersIn(state)) return false
  return waitsFor(crew, task).every((name) => isDone(state, name))
}

function isDone(state: RunState, task: string): boolean {
  const status = state.tasks.get(task)?.status
  return status === 'completed' || status === 'skipped'
}

/**
 * A task that waits for an answer continues only after a new one. The task itself finds out whether it is the right
 * one.
 */
export function answersIn(state: RunState): number {
  return [...state.questions.values()].filter(({ answer, withdrawn }) => answer ?? withdrawn).length
}

/**
 * Those of these tasks that wait for a run of their own whose questions were answered while others were in progress.
 */
export async function answeredChildren({ state, engine }: Life, waiting: readonly string[]): Promise<string[]> {
  const answered: string[] = []
  for (const task of waiting) {
    const child = childOf(state, task)
    if (child && (await hasAnswers(engine.store, child.run))) answered.push(task)
  }
  return answered
}
