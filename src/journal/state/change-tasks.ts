// The tasks of a run, and how a resume changes them: a renamed task keeps its record under the new name, and the open
// work of a removed task is given up.
import type { DeclaredTask, EntryOf, OrphanedTask, TaskListChanges, TaskTexts, LostEntries } from '../entries.ts'
import type { RunState, TaskState, QuestionState, AttemptState } from './state.ts'
import { ownMember } from '../../base/options.ts'
import { fillIn } from '../../text/fill-in.ts'
import { inputAsText } from '../files.ts'
import { taskNameAt } from './at-path.ts'
import { turnBack, isDone } from './tally.ts'

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
function renameTasks(state: RunState, renamed: NonNullable<TaskListChanges['renamed']>): void {
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

// Task texts for people, with the run's inputs in place of the placeholders.

/** Placeholders without an input stay. */
export function fillInInputs(template: string, { inputs }: Pick<RunState, 'inputs'>): string {
  return fillIn(template, (name) => {
    const value = ownMember(inputs, name)
    return value === undefined ? undefined : inputAsText(value)
  })
}

/** Once there is an output, the texts that it was made with: a fork may have other inputs, and today's code others. */
export function taskTexts(
  { description, expectedOutput, output }: TaskState,
  run: Pick<RunState, 'inputs'>,
): TaskTexts {
  if (output?.texts) return output.texts
  return {
    description: fillInInputs(description, run),
    ...(expectedOutput === undefined ? {} : { expectedOutput: fillInInputs(expectedOutput, run) }),
  }
}

// Gives up work: attempts that nothing continues, and questions that need no answer any more.

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

// Missing and changed entries, from a hand edit or damage: which tasks they leave unfinished, and which calls they may
// hide.

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

function unfinishedTasks(state: RunState): TaskState[] {
  return [...state.tasks.values()].filter((task) => !task.removed && !isDone(task))
}
