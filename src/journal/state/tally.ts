// What is asked of a run after every step, counted while its entries are folded. Looking through all tasks instead
// would make a step of a large crew slower than one of a small crew. Most entries change only the task of their path;
// after those that may change all of them, all are counted.
import type { Entry, EntryType } from '../entries.ts'
import { childName, isNestedAttempt, rootAttempt } from '../paths.ts'
import type { EntryRow } from '../table/entry-row.ts'
import { taskNameAt } from './at-path.ts'
import type { AttemptState, RunState, TaskState } from './state.ts'

export interface Tally {
  /** How many of the tasks that the crew declares are done, without those that failed. */
  done: number
  /** How many failed that the run, or the run of a nested crew, continued without. */
  failures: number
  /** How many it no longer declares. */
  removed: number
  /** Names of the tasks that had runs work for them since they were last done. */
  readonly crews: Set<string>
  /** The name of a task each time that an entry of its own made it done, or no longer done. */
  readonly turns: string[]
}

export function newTally(): Tally {
  return { done: 0, failures: 0, removed: 0, crews: new Set(), turns: [] }
}

/** Applies an entry that changes at most the task of its path, and counts what that changes. */
export function tallied(state: RunState, entry: Entry, row: Pick<EntryRow<EntryType>, 'apply' | 'startsChild'>): void {
  const { tally } = state
  const { path = '' } = entry
  const name = taskNameAt(state, path)
  const there = state.tasks.get(name)
  const before = there ? countsOf(there) : nothing
  row.apply(state, entry)
  const task = there ?? state.tasks.get(name)
  if (!task) return
  const after = countsOf(task)
  if (after.isDone !== before.isDone) tally.turns.push(name)
  tally.done += after.done - before.done
  tally.failures += after.failures - before.failures
  if (!isNestedAttempt(path)) tallyCrew(state, task)
  else if (row.startsChild?.(entry)) tally.crews.add(name)
}

/** After an entry that may change all tasks. */
export function tallyAll(state: RunState): void {
  const { tally } = state
  tally.done = 0
  tally.failures = 0
  tally.removed = 0
  tally.crews.clear()
  for (const task of state.tasks.values()) {
    if (task.removed) tally.removed += 1
    const { done, failures } = countsOf(task)
    tally.done += done
    tally.failures += failures
    tallyCrew(state, task)
  }
}

function tallyCrew(state: RunState, task: TaskState): void {
  const { crews } = state.tally
  if (attemptsSinceDone(state, task).length > 0) crews.add(task.name)
  else crews.delete(task.name)
}

interface Counts {
  readonly isDone: boolean
  readonly done: number
  readonly failures: number
}

const nothing: Counts = { isDone: false, done: 0, failures: 0 }

function countsOf(task: TaskState): Counts {
  const { removed, final, failures = [] } = task
  const done = isDone(task)
  if (removed) return { ...nothing, isDone: done }
  return { isDone: done, done: done && !final ? 1 : 0, failures: final ? 1 : failures.length }
}

/** A skipped task that is to have another turn was done until now. */
export function turnBack({ tally }: RunState, { name, removed }: TaskState): void {
  tally.turns.push(name)
  if (!removed) tally.done -= 1
}

/** Nothing is left to do for it. */
export function isDone({ status, final }: TaskState): boolean {
  return status === 'completed' || status === 'skipped' || final === true
}

/** A task that needs its output goes without: it failed for good, or was skipped because another one did. */
export function isMissing({ final, failed }: TaskState): boolean {
  return final === true || failed !== undefined
}

export type ChildAttempt = AttemptState & { readonly child: string }

/**
 * The attempts of a task that are runs of their own, since it was last done: what these have taken is recorded only
 * there until it is done again. Of what a function kicked off, those since that was last done.
 */
export function attemptsSinceDone(state: RunState, task: TaskState): ChildAttempt[] {
  const attempts = task.attempts.flatMap((path) => state.attempts.get(path) ?? [])
  const done = attempts.findLastIndex((attempt) => attempt.status === 'completed')
  const since = attempts.slice(done + 1)
  return [...since.filter(isChild), ...kickedOffIn(state, task, since)]
}

function kickedOffIn(state: RunState, { nested }: TaskState, since: readonly AttemptState[]): ChildAttempt[] {
  if (nested.length === 0) return []
  const roots = new Set(since.map(({ path }) => path))
  const open = new Map<string, ChildAttempt[]>()
  for (const path of nested) {
    const attempt = roots.has(rootAttempt(path)) ? state.attempts.get(path) : undefined
    if (!attempt || !isChild(attempt)) continue
    const name = childName(path)
    const before = open.get(name)
    if (attempt.status === 'completed') open.delete(name)
    else if (before) before.push(attempt)
    else open.set(name, [attempt])
  }
  return [...open.values()].flat()
}

function isChild(attempt: AttemptState): attempt is ChildAttempt {
  return attempt.child !== undefined
}

/** The same of all tasks. */
export function unfinishedCrews(state: RunState): ChildAttempt[] {
  return [...state.tally.crews].flatMap((name) => {
    const task = state.tasks.get(name)
    return task ? attemptsSinceDone(state, task) : []
  })
}
