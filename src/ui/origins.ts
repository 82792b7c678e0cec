// Whose words a path is about: of a task's agent, of a coworker, or of somebody who only works inside a step.
import { defined } from '../base/defined.ts'
import { attemptsIn } from '../journal/paths.ts'
import { taskNameAt } from '../journal/state/at-path.ts'
import type { RunState } from '../journal/state/state.ts'
import type { PartOrigin } from './message.ts'

export function originOf(state: RunState, path: string): PartOrigin {
  const agent = state.attempts.get(attemptsIn(path).at(-1) ?? '')?.agent
  return { task: taskNameAt(state, path), path, ...defined({ agent: agent === '' ? undefined : agent }) }
}

/**
 * Whether it is said inside a step: a judge's verdict on an answer, a summary of the conversation. What a coworker says
 * is part of a call (`note#1/3.0/analyst#1`), and is shown.
 */
export function isInternal(path: string): boolean {
  return attemptsIn(path)
    .slice(1)
    .some((attempt) => !/\/\d+\.\d+\/[^/]+$/.test(attempt))
}

/** Whether one of the attempts that a path is part of was given up. */
export function isGivenUp(state: RunState, path: string): boolean {
  if (state.status === 'cancelled') return true
  return attemptsIn(path).some((attempt) => ['void', 'failed'].includes(state.attempts.get(attempt)?.status ?? ''))
}
