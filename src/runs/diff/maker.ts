// Which attempt stands behind a task's output, or why none in this run does.
import type { AttemptState, RunState, TaskState } from '../../journal/state/state.ts'

/**
 * Why a run has no prompt and no steps of a task: they are in another run, a person gave the output, or nothing was
 * sent.
 */
export type MissingReason = 'inherited' | 'edited' | 'not started'

/** The attempt that made the output; of a task without one, its last. */
export function outputAttempt(state: RunState, task: TaskState): AttemptState | MissingReason {
  if (task.source === 'inherited' || task.source === 'edited') return task.source
  const attempts = task.attempts.flatMap((path) => state.attempts.get(path) ?? [])
  const made = task.output && attempts.findLast((attempt) => attempt.status === 'completed')
  return made ?? attempts.at(-1) ?? 'not started'
}
