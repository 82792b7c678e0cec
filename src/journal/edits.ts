// A person's edit of the journal itself: what it left undone.
import type { AttemptState, RunState, TaskState } from './state.ts'

/** A completed run in which a person removed a task's completion is not completed any more. Call it behind the last entry. */
export function closeFold(state: RunState): RunState {
  if (state.status === 'completed' && edited(state) && unfinished(state).length > 0) {
    state.status = 'suspended'
    state.suspended = { reason: 'edited' }
  }
  return state
}

export function edited(state: RunState): boolean {
  return state.missing.length > 0 || state.changed.length > 0
}

/** Tasks that a person's edit of the journal left unfinished: something is missing or changed behind the start of their last attempt. */
export function undone(state: RunState): TaskState[] {
  const touched = [...state.missing, ...state.changed].reduce((most, seq) => Math.max(most, seq), 0)
  return unfinished(state).filter((task) => {
    // in a run that was completed, a task that was never begun had inherited its output
    if (task.attempts.length === 0) return state.suspended?.reason === 'edited'
    return touched > begin(state, state.attempts.get(task.attempts.at(-1) ?? ''))
  })
}

/** The entry with which the conversation of an attempt began, in whatever attempt that was. */
function begin(state: RunState, attempt: AttemptState | undefined): number {
  const carried = attempt?.carries && state.attempts.get(attempt.carries.path)
  return carried ? begin(state, carried) : (attempt?.seq ?? Infinity)
}

export function unfinished(state: RunState): TaskState[] {
  return [...state.tasks.values()].filter(
    (task) => !task.removed && task.status !== 'completed' && task.status !== 'skipped',
  )
}
