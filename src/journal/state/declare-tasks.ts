// Which tasks a run has: those that its crew declares, and those that it no longer declares but that have done
// something.
import type { DeclaredTask } from '../entries.ts'
import { withdrawQuestions } from './reset-task.ts'
import type { RunState, TaskState } from './state.ts'

export function declareTasks(state: RunState, tasks: readonly DeclaredTask[]): void {
  const before = state.tasks
  state.tasks = new Map()
  for (const declared of tasks) {
    const known = before.get(declared.name)
    if (known) delete known.removed
    state.tasks.set(declared.name, known ? Object.assign(known, declared) : newTask(declared, state.lost))
  }
  // a task that is no longer declared stays readable, after the others, if it has done anything
  for (const [name, task] of before) {
    if (state.tasks.has(name) || (task.status === 'pending' && task.attempts.length === 0)) continue
    state.tasks.set(name, Object.assign(task, { removed: true }))
    withdrawQuestions(state, task)
  }
}

/** A task declared after entries were lost may have been declared, and started, in them. */
function newTask(declared: DeclaredTask, lost: readonly number[] = []): TaskState {
  const task: TaskState = { ...declared, status: 'pending', attempts: [], nested: [] }
  return lost.length === 0 ? task : { ...task, lost: [...lost] }
}
