// Gives up work: attempts that nothing continues, and questions that need no answer any more.
import { taskNameAt } from './at-path.ts'
import type { QuestionState, RunState, TaskState } from './state.ts'
import { turnBack } from './tally.ts'

/** Gives up the open attempts of a task, and its questions. */
export function voidAttempts(state: RunState, task: TaskState): void {
  for (const path of [...task.attempts, ...task.nested]) {
    const attempt = state.attempts.get(path)
    if (attempt?.status === 'open' || attempt?.status === 'refused') attempt.status = 'void'
  }
  withdrawQuestions(state, task)
}

/** Withdraws the open questions of a task, and of work within it. */
export function withdrawQuestions(state: RunState, task: TaskState, within = ''): void {
  for (const asked of state.unanswered) {
    const { path } = asked.question
    if (taskNameAt(state, path) === task.name && path.startsWith(within)) withdrawQuestion(state, asked)
  }
}

export function withdrawQuestion(state: RunState, asked: QuestionState): void {
  asked.withdrawn = true
  state.unanswered.delete(asked)
}

/** The task starts over. */
export function restartTask(state: RunState, task: TaskState): void {
  voidAttempts(state, task)
  // what its tools cached is read again, too
  for (const [key, { path }] of state.cached) if (taskNameAt(state, path) === task.name) state.cached.delete(key)
  delete task.offered
  task.again = true
  task.status = 'pending'
  forgetOutput(task)
  undoSkips(state, task)
}

/** Removes the output and everything recorded about it. */
export function forgetOutput(task: TaskState): void {
  delete task.source
  delete task.output
  delete task.seq
  delete task.from
  delete task.conversation
  delete task.stale
  delete task.kickoffs
  delete task.error
  delete task.final
  delete task.failed
}

/** A failed task has an output after all, or starts over: tasks that were skipped because of it get another turn. */
export function undoSkips(state: RunState, { name }: TaskState): void {
  for (const task of state.tasks.values()) {
    if (!task.failed?.includes(name)) continue
    delete task.failed
    task.status = 'pending'
    turnBack(state, task)
  }
}
