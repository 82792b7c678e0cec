// Which tasks of a run can be begun, from its state and what the crew declares alone.
import type { RunState } from '../../journal/state/state.ts'
import type { CrewDefinition, TaskDefinition } from '../definition.ts'
import type { Life } from '../life.ts'
import { childOf, hasAnswers } from '../task/children.ts'
import { waitsFor } from './waits-for.ts'

/** `waiting`: tasks that wait for an answer, with how many answers there were when they began to. */
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

/** Only a new answer lets a task continue that waits for one. Whether it is the one, the task finds out. */
export function answersIn(state: RunState): number {
  return [...state.questions.values()].filter(({ answer, withdrawn }) => answer ?? withdrawn).length
}

/** Those of these tasks that wait for a run of their own whose questions were answered while others were under way. */
export async function answeredChildren({ state, engine }: Life, waiting: readonly string[]): Promise<string[]> {
  const answered: string[] = []
  for (const task of waiting) {
    const child = childOf(state, task)
    if (child && (await hasAnswers(engine.store, child.run))) answered.push(task)
  }
  return answered
}
