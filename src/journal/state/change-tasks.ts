// The tasks of a run, and how a resume changes them: a renamed task keeps its record under the new name, and the open
// work of a removed task is given up.
import type { DeclaredTask, EntryOf, OrphanedTask, TaskListChanges } from '../entries.ts'
import { restartTask, voidAttempts, withdrawQuestions } from './reset-task.ts'
import type { RunState, TaskState } from './state.ts'

export function applyTaskChanges(state: RunState, { at, tasks, changes }: EntryOf<'run.resumed'>): void {
  if (changes) {
    state.taskChanges.push({ at, ...changes })
    if (changes.renamed) renameTasks(state, changes.renamed)
    const declared = new Set(tasks ? tasks.map(({ name }) => name) : state.tasks.keys())
    for (const name of changes.removed ?? []) {
      const task = state.tasks.get(name)
      if (task) (declared.has(name) ? restartTask : voidAttempts)(state, task)
    }
  }
  if (tasks) declareTasks(state, tasks)
}

/** Recorded work without a task, as of the last resume. */
export function orphanedIn({ status, suspended }: Pick<RunState, 'status' | 'suspended'>): readonly OrphanedTask[] {
  return (status === 'suspended' && suspended && 'orphaned' in suspended && suspended.orphaned) || []
}

/** The state with the crew's current tasks, before a resume records them. */
export function withTaskChanges(state: RunState, changes: TaskListChanges | undefined): RunState {
  if (!changes) return state
  const next: RunState = {
    ...state,
    taskChanges: [...state.taskChanges],
    tasks: new Map([...state.tasks].map(([name, task]) => [name, { ...task }])),
    attempts: new Map([...state.attempts].map(([path, attempt]) => [path, { ...attempt }])),
    unanswered: new Set(state.unanswered),
  }
  if (changes.renamed) renameTasks(next, changes.renamed)
  return next
}

/** Paths keep the old name: entries are found by them, and child runs are named after them. */
export function renameTasks(state: RunState, renamed: NonNullable<TaskListChanges['renamed']>): void {
  const names = new Map(Object.entries(renamed))
  const targets = new Set(names.values())
  const now = (name: string): string => names.get(name) ?? name
  const inCalls = <C extends { readonly task: string }>(call: C): C => ({ ...call, task: renamedPlace(call.task, now) })
  // an unused task that was declared under the new name makes room
  const kept = [...state.tasks.values()].filter(({ name }) => names.has(name) || !targets.has(name))
  state.tasks = new Map(kept.map((task) => [now(task.name), Object.assign(task, { name: now(task.name) })]))
  for (const task of kept) {
    if (task.childCalls) task.childCalls = task.childCalls.map(inCalls)
    if (task.lostBefore) task.lostBefore = inCalls(task.lostBefore)
    if (task.failed) task.failed = task.failed.map(now)
  }
  for (const attempt of state.attempts.values()) attempt.task = now(attempt.task)
  state.inheritedCalls = state.inheritedCalls.map(inCalls)
  if (state.plan) state.plan = state.plan.map(inCalls)
}

/** `post/pay` for `book/pay` if book was renamed to post. */
function renamedPlace(place: string, now: (name: string) => string): string {
  const [first = '', ...rest] = place.split('/')
  return [now(first), ...rest].join('/')
}

export function declareTasks(state: RunState, tasks: readonly DeclaredTask[]): void {
  const before = state.tasks
  state.tasks = new Map()
  for (const declared of tasks) {
    const known = before.get(declared.name)
    if (known) delete known.removed
    state.tasks.set(declared.name, known ? Object.assign(known, declared) : newTask(declared, state.lost))
  }
  // a task that is no longer declared stays readable, after the others, if it has a record
  for (const [name, task] of before) {
    if (state.tasks.has(name) || (task.status === 'pending' && task.attempts.length === 0)) continue
    state.tasks.set(name, Object.assign(task, { removed: true }))
    withdrawQuestions(state, task)
  }
}

/** A task that is declared after entries were lost may have been started in them. */
function newTask(declared: DeclaredTask, lost: readonly number[] = []): TaskState {
  const task: TaskState = { ...declared, status: 'pending', attempts: [], nested: [] }
  return lost.length === 0 ? task : { ...task, lost: [...lost] }
}
