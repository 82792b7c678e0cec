// What is asked of a run after every step, counted while its entries are folded. Looking through all tasks instead
// would make a step of a large crew slower than one of a small crew. Most entries change only the task of their path;
// after those that may change all of them, all are counted.
import type { Entry } from '../entries.ts'
import { isNested } from '../paths.ts'
import { taskNameAt } from './at-path.ts'
import type { AttemptState, RunState, TaskState } from './state.ts'

export interface Tally {
  /** How many of the tasks that the crew declares are done. */
  done: number
  /** How many it no longer declares. */
  removed: number
  /** Names of the tasks that are crews and have attempts since they were last done. */
  readonly crews: Set<string>
  /** The name of a task each time that an entry of its own made it done, or no longer done. */
  readonly turns: string[]
}

export function newTally(): Tally {
  return { done: 0, removed: 0, crews: new Set(), turns: [] }
}

/** Applies an entry that changes at most the task of its path, and counts what that changes. */
export function tallied(state: RunState, entry: Entry, apply: (state: RunState, entry: Entry) => void): void {
  const { tally } = state
  const { path = '' } = entry
  const name = taskNameAt(state, path)
  const there = state.tasks.get(name)
  const before = there !== undefined && isDone(there)
  apply(state, entry)
  const task = there ?? state.tasks.get(name)
  if (!task) return
  const after = isDone(task)
  if (after !== before) {
    tally.turns.push(name)
    if (!task.removed) tally.done += after ? 1 : -1
  }
  if (!isNested(path)) tallyCrew(state, task)
}

/** After an entry that may change all tasks. */
export function tallyAll(state: RunState): void {
  const { tally } = state
  tally.done = 0
  tally.removed = 0
  tally.crews.clear()
  for (const task of state.tasks.values()) {
    if (task.removed) tally.removed += 1
    else if (isDone(task)) tally.done += 1
    tallyCrew(state, task)
  }
}

function tallyCrew(state: RunState, task: TaskState): void {
  const { crews } = state.tally
  if (attemptsSinceDone(state, task).length > 0) crews.add(task.name)
  else crews.delete(task.name)
}

export function isDone({ status }: TaskState): boolean {
  return status === 'completed' || status === 'skipped'
}

export type ChildAttempt = AttemptState & { readonly child: string }

/**
 * The attempts at a task that is a crew since it was last done: what their runs have taken is recorded only there until
 * it is done again.
 */
export function attemptsSinceDone(state: RunState, task: TaskState): ChildAttempt[] {
  const attempts = task.attempts.flatMap((path) => state.attempts.get(path) ?? [])
  const done = attempts.findLastIndex((attempt) => attempt.status === 'completed')
  return attempts.slice(done + 1).filter((attempt): attempt is ChildAttempt => attempt.child !== undefined)
}

/** The same of all tasks. */
export function unfinishedCrews(state: RunState): ChildAttempt[] {
  return [...state.tally.crews].flatMap((name) => {
    const task = state.tasks.get(name)
    return task ? attemptsSinceDone(state, task) : []
  })
}
