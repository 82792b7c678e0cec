// What ends without having been done: attempts that nobody goes on with, and questions that need no answer any more.
import { taskOf } from '../paths.ts'
import type { RunState, TaskState } from './state.ts'

/** What the task was about to do is not done any more, and its questions need no answer. */
export function giveUp(state: RunState, task: TaskState): void {
  for (const path of [...task.attempts, ...task.nested]) {
    const attempt = state.attempts.get(path)
    if (attempt?.status === 'open' || attempt?.status === 'refused') attempt.status = 'void'
  }
  withdraw(state, task)
}

/** Nobody needs the answers to the open questions of a task, or of work within it, any more. */
export function withdraw(state: RunState, task: TaskState, within = ''): void {
  for (const asked of state.questions.values()) {
    const { path } = asked.question
    if (!asked.answer && taskOf(path) === task.name && path.startsWith(within)) asked.withdrawn = true
  }
}
