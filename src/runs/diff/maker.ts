// The attempt that made a task's output, or why this run has none.
import type { AttemptState, RunState, TaskState } from '../../journal/state/state.ts'

/**
 * Why a run has no prompt and no steps for a task: they are in another run, a person edited the output, or nothing was
 * sent.
 */
export type MissingReason = 'inherited' | 'edited' | 'not started'

/** The attempt that made the output; for a task without output, its last attempt. */
export function outputAttempt(state: RunState, task: TaskState): AttemptState | MissingReason {
  if (task.source === 'inherited' || task.source === 'edited') return task.source
  const attempts = task.attempts.flatMap((path) => state.attempts.get(path) ?? [])
  const made = task.output && attempts.findLast((attempt) => attempt.status === 'completed')
  return made ?? attempts.at(-1) ?? 'not started'
}
