// What ends without having been done: attempts that nobody continues, and questions that no longer need an answer.
import { taskNameAt } from './at-path.ts'
import type { QuestionState, RunState, TaskState } from './state.ts'
import { turnBack } from './tally.ts'

/** What the task was about to do is no longer done, and its questions need no answer. */
export function voidAttempts(state: RunState, task: TaskState): void {
  for (const path of [...task.attempts, ...task.nested]) {
    const attempt = state.attempts.get(path)
    if (attempt?.status === 'open' || attempt?.status === 'refused') attempt.status = 'void'
  }
  withdrawQuestions(state, task)
}

/** The open questions of a task, and of work within it, no longer need answers. */
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

/** The task is executed again, as if it had never been. */
export function restartTask(state: RunState, task: TaskState): void {
  voidAttempts(state, task)
  // whoever wants it executed again wants it read again
  for (const [key, { path }] of state.cached) if (taskNameAt(state, path) === task.name) state.cached.delete(key)
  delete task.offered
  task.again = true
  task.status = 'pending'
  forgetOutput(task)
  undoSkips(state, task)
}

/** What is recorded about an output goes with it. */
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
  delete task.failures
}

/** A task that failed is there after all, or is executed again: what was skipped because of it gets another turn. */
export function undoSkips(state: RunState, { name }: TaskState): void {
  for (const task of state.tasks.values()) {
    if (!task.failed?.includes(name)) continue
    delete task.failed
    task.status = 'pending'
    turnBack(state, task)
  }
}
