// Missing and changed entries, from a hand edit or damage: which tasks they leave unfinished, and which calls they may
// hide.
import type { LostEntries } from '../entries.ts'
import type { AttemptState, RunState, TaskState } from './state.ts'
import { isDone } from './tally.ts'

/** No person removes that many lines: a number was mistyped. */
export const gapLimit = 100_000

/** Notes that the entries up to `last` are missing. What they recorded about unfinished tasks is unknown. */
export function noteMissingEntries(state: RunState, last: number): void {
  if (last <= state.seq) return
  if (last - state.seq >= gapLimit) {
    state.unknown ??= `a gap of ${last - state.seq} entries before entry ${last + 1}`
    return
  }
  const gone = Array.from({ length: last - state.seq }, (_, index) => state.seq + 1 + index)
  state.missing.push(...gone)
  for (const task of state.tasks.values()) if (!isDone(task)) task.lost = [...(task.lost ?? []), ...gone]
}

/**
 * A resume continues without these entries. What they can hide about a task is a call that left no trace, so at least
 * as many entries must be missing as such a call writes.
 */
export function noteLostEntries(state: RunState, missing: readonly number[]): void {
  state.lost = [...(state.lost ?? []), ...missing]
  for (const task of state.tasks.values()) if (task.lost) task.lost = lostWith(state, task, missing)
}

/** Missing entries that may have recorded calls, for runs made from this one. */
export function lostEntries(state: RunState): LostEntries[] {
  return [...state.tasks.values()].flatMap((task) => {
    const entries = lostWith(state, task, state.missing)
    if (entries.length > 0) return [{ task: task.name, run: state.run, entries }]
    return task.lostBefore ?? []
  })
}

function lostWith(state: RunState, task: TaskState, missing: readonly number[]): readonly number[] {
  const { lost = [] } = task
  const others = excludeEntries(lost, missing)
  return lost.length - others.length < neededFor(state, task) ? others : lost
}

/** The call itself, the reply that requests it, the start of the attempt, minus the entries that may still be there. */
function neededFor(state: RunState, { attempts, nested, agent }: TaskState): number {
  const turns = [...attempts, ...nested].flatMap((path) => state.attempts.get(path)?.turns ?? [])
  const askedFor = turns.some(({ calls }) => calls.some((call) => call.calledAt === undefined && !call.outcome))
  if (askedFor) return 1
  if (attempts.length > 0) return 2
  // a function is called without a reply, and by the entry that starts its first attempt
  return agent === undefined ? 1 : 3
}

export function excludeEntries(list: readonly number[], some: readonly number[]): number[] {
  const gone = new Set(some)
  return list.filter((seq) => !gone.has(seq))
}

/** A completed run is no longer completed if a person removed a task's completion. Call it after the last entry. */
export function finishFold(state: RunState): RunState {
  if (state.status === 'completed' && isHandEdited(state) && unfinishedTasks(state).length > 0) {
    state.status = 'suspended'
    state.suspended = { reason: 'edited' }
  }
  return state
}

export function isHandEdited(state: RunState): boolean {
  return state.missing.length > 0 || state.changed.length > 0
}

/** Tasks that a hand edit left unfinished: an entry is missing or changed after the start of their last attempt. */
export function tasksToRedo(state: RunState): TaskState[] {
  const touched = [...state.missing, ...state.changed].reduce((most, seq) => Math.max(most, seq), 0)
  return unfinishedTasks(state).filter((task) => {
    // in a completed run, a task that was never started had inherited its output
    if (task.attempts.length === 0) return state.suspended?.reason === 'edited'
    return touched > begin(state, state.attempts.get(task.attempts.at(-1) ?? ''))
  })
}

/** The entry that started the conversation of an attempt, in whichever attempt. */
function begin(state: RunState, attempt: AttemptState | undefined): number {
  const carried = attempt?.carries && state.attempts.get(attempt.carries.path)
  return carried ? begin(state, carried) : (attempt?.seq ?? Infinity)
}

export function unfinishedTasks(state: RunState): TaskState[] {
  return [...state.tasks.values()].filter((task) => !task.removed && !isDone(task))
}
