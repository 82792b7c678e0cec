// Changes of tasks: when a resume finds that the crew's tasks have changed, when work is given up or starts over, and
// when entries turn out to be missing or changed. A renamed task keeps its record under the new name; the open work of
// a removed task is given up.
import type { DeclaredTask, EntryOf, OrphanedTask, TaskListChanges, TaskTexts, LostEntries } from '../entries.ts'
import type { RunState, TaskState, AttemptState } from './state.ts'
import { ownMember } from '../../base/options.ts'
import { fillIn } from '../../text/fill-in.ts'
import { inputAsText } from '../files.ts'
import { taskOfItem, itemName } from '../paths.ts'
import { itemsOf, taskNameAt } from './at-path.ts'
import { withdrawQuestions } from './questions.ts'
import { isDone, untallySkipped } from './tally.ts'

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

/** A copy of the state in which tasks are renamed, as a resume will record it. */
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

/**
 * Returns the state with the names that the code has now. A run that was not resumed since a task was renamed has its
 * record under the old name.
 */
export function withNewNames(
  state: RunState,
  tasks: readonly { readonly name: string; readonly was: readonly string[] }[],
): RunState {
  const renamed = tasks.flatMap(({ name, was }) => {
    const old = state.tasks.has(name)
      ? undefined
      : was.find((one) => state.tasks.get(one)?.removed !== true && state.tasks.has(one))
    return old === undefined ? [] : [[old, name] as const]
  })
  return renamed.length === 0 ? state : withTaskChanges(state, { renamed: Object.fromEntries(renamed) })
}

/** Renames tasks. Paths keep the old name, since entries are found by path and child runs are named after it. */
export function renameTasks(state: RunState, renamed: NonNullable<TaskListChanges['renamed']>): void {
  const names = new Map(Object.entries(renamed))
  for (const [old, now] of names)
    for (const item of state.tasks.values())
      if (item.of === old) names.set(item.name, now + item.name.slice(old.length))
  const targets = new Set(names.values())
  const newName = (name: string): string => names.get(name) ?? newItemName(state, names, name)
  const withNewName = <C extends { readonly task: string }>(record: C): C => ({
    ...record,
    task: renamedPlace(record.task, newName),
  })
  // a task that was declared under the new name has no record yet, and is replaced
  const kept = [...state.tasks.values()].filter(({ name }) => names.has(name) || !targets.has(name))
  state.tasks = new Map(kept.map((task) => [newName(task.name), Object.assign(task, { name: newName(task.name) })]))
  for (const task of kept) {
    if (task.childCalls) task.childCalls = task.childCalls.map(withNewName)
    if (task.lostBefore) task.lostBefore = withNewName(task.lostBefore)
    if (task.failed) task.failed = task.failed.map(newName)
    if (task.items) task.items = task.items.map(newName)
    if (task.of !== undefined) task.of = newName(task.of)
  }
  for (const attempt of state.attempts.values()) attempt.task = newName(attempt.task)
  state.inheritedCalls = state.inheritedCalls.map(withNewName)
  if (state.plan) state.plan = state.plan.map(withNewName)
}

/** The new name of an item that the run knows only from inherited calls. */
function newItemName({ tasks, flow }: RunState, names: ReadonlyMap<string, string>, name: string): string {
  const of = flow || tasks.has(name) ? undefined : taskOfItem(name)
  const now = of === undefined ? undefined : names.get(of)
  return now === undefined ? name : itemName(now, name.slice((of ?? '').length + 1, -1))
}

/** `post/pay` for `book/pay` if book was renamed to post. */
function renamedPlace(place: string, newName: (name: string) => string): string {
  const [first = '', ...rest] = place.split('/')
  return [newName(first), ...rest].join('/')
}

export function declareTasks(state: RunState, tasks: readonly DeclaredTask[]): void {
  const before = state.tasks
  state.tasks = new Map()
  for (const declared of tasks) {
    const known = before.get(declared.name)
    if (known) delete known.removed
    state.tasks.set(declared.name, known ? Object.assign(known, declared) : newTask(declared, state.lost))
    for (const item of known ? itemsOf({ tasks: before }, known) : []) {
      delete item.removed
      state.tasks.set(item.name, item)
    }
  }
  // a task that is no longer declared but has a record stays readable, after the others
  for (const [name, task] of before) {
    if (state.tasks.has(name) || (task.status === 'pending' && task.attempts.length === 0)) continue
    state.tasks.set(name, Object.assign(task, { removed: true }))
    withdrawQuestions(state, task)
  }
}

/** Creates a task. If entries are missing already, they may have recorded its start. */
function newTask(declared: DeclaredTask, lost: readonly number[] = []): TaskState {
  const task: TaskState = { ...declared, status: 'pending', attempts: [], nested: [] }
  return lost.length === 0 ? task : { ...task, lost: [...lost] }
}

/** Replaces the placeholders of a task's text by the run's inputs. A placeholder without an input stays. */
export function fillInInputs(template: string, { inputs }: Pick<RunState, 'inputs'>): string {
  return fillIn(template, (name) => {
    const value = ownMember(inputs, name)
    return value === undefined ? undefined : inputAsText(value)
  })
}

/**
 * The texts of a task. If it has an output, the texts that the output was made with: a fork may have other inputs, and
 * today's code other texts.
 */
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

// Giving up and starting over.

/** Gives up the open attempts of a task and its items, and their questions. */
export function voidAttempts(state: RunState, task: TaskState): void {
  for (const one of [task, ...itemsOf(state, task)]) voidOwnAttempts(state, one)
}

function voidOwnAttempts(state: RunState, task: TaskState): void {
  for (const path of [...task.attempts, ...task.nested]) {
    const attempt = state.attempts.get(path)
    if (attempt?.status === 'open' || attempt?.status === 'refused') attempt.status = 'void'
  }
  withdrawQuestions(state, task)
}

/** Makes a task start over, with all of its items unless `keepsItems`. */
export function restartTask(state: RunState, task: TaskState, keepsItems = false): void {
  if (!keepsItems) for (const item of itemsOf(state, task)) restartTask(state, item)
  voidOwnAttempts(state, task)
  // results that its tools cached are not used again either
  for (const [key, { path }] of state.cached) if (taskNameAt(state, path) === task.name) state.cached.delete(key)
  delete task.offered
  task.again = true
  task.status = 'pending'
  forgetOutput(task)
  undoSkips(state, task)
  reopenList(state, task)
}

/** Reopens the task that lists an item, since the item has another output or starts over. */
export function reopenList(state: RunState, { of }: TaskState): void {
  const list = of === undefined ? undefined : state.tasks.get(of)
  if (!list || list.status === 'pending' || list.status === 'running') return
  list.status = 'pending'
  forgetOutput(list)
  undoSkips(state, list)
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
  delete task.timedOut
}

/** Undoes the skips that a failed task caused, since it has an output after all or starts over. */
export function undoSkips(state: RunState, { name }: TaskState): void {
  for (const task of state.tasks.values()) {
    if (!task.failed?.includes(name)) continue
    delete task.failed
    task.status = 'pending'
    untallySkipped(state, task)
  }
}

// Entries that are missing or changed, after a hand edit or damage: which tasks they leave unfinished, and which calls
// they may hide.

/** A larger gap isn't removed lines, but a mistyped entry number. */
export const gapLimit = 100_000

/** Notes that the entries up to `last` are missing, which may have recorded something about unfinished tasks. */
export function noteMissingEntries(state: RunState, last: number): void {
  if (last <= state.seq) return
  if (last - state.seq >= gapLimit) {
    state.unknown ??= `a gap of ${last - state.seq} entries before entry ${last + 1}`
    return
  }
  const missing = Array.from({ length: last - state.seq }, (_, index) => state.seq + 1 + index)
  state.missing.push(...missing)
  for (const task of state.tasks.values()) if (!isDone(task)) task.lost = [...(task.lost ?? []), ...missing]
}

/**
 * Notes that a resume continues without these entries. A task keeps them only if they are enough to hide a call that
 * left no other trace.
 */
export function noteLostEntries(state: RunState, missing: readonly number[]): void {
  state.lost = [...(state.lost ?? []), ...missing]
  for (const task of state.tasks.values()) if (task.lost) task.lost = lostEntriesOf(state, task, missing)
}

/** Missing entries that may have recorded calls, for forks of this run. */
export function lostEntries(state: RunState): LostEntries[] {
  return [...state.tasks.values()].flatMap((task) => {
    const entries = lostEntriesOf(state, task, state.missing)
    if (entries.length > 0) return [{ task: task.name, run: state.run, entries }]
    return task.lostBefore ?? []
  })
}

/** The lost entries of a task, without those in `missing` if they are too few to hide a call. */
function lostEntriesOf(state: RunState, task: TaskState, missing: readonly number[]): readonly number[] {
  const { lost = [] } = task
  const others = excludeEntries(lost, missing)
  return lost.length - others.length < entriesOfCall(state, task) ? others : lost
}

/**
 * How many entries must be missing to hide a call: the call itself and, unless the journal has them, the reply that
 * requests it and the start of the attempt.
 */
function entriesOfCall(state: RunState, { attempts, nested, agent }: TaskState): number {
  const turns = [...attempts, ...nested].flatMap((path) => state.attempts.get(path)?.turns ?? [])
  const isRequested = turns.some(({ calls }) => calls.some((call) => call.calledAt === undefined && !call.outcome))
  if (isRequested) return 1
  if (attempts.length > 0) return 2
  // a function is called by the entry that starts its first attempt, without a reply
  return agent === undefined ? 1 : 3
}

export function excludeEntries(list: readonly number[], excluded: readonly number[]): number[] {
  const seqs = new Set(excluded)
  return list.filter((seq) => !seqs.has(seq))
}

/** Call it after the last entry: a run whose journal lacks the completion of a task isn't completed any more. */
export function finishFold(state: RunState): RunState {
  if (state.status !== 'completed' || !isHandEdited(state)) return state
  if ((state.flow ? tasksToRedo(state) : unfinishedTasks(state)).length > 0) {
    state.status = 'suspended'
    state.suspended = { reason: 'edited' }
  }
  return state
}

export function isHandEdited(state: RunState): boolean {
  return state.missing.length > 0 || state.changed.length > 0
}

/** Tasks that a hand edit left unfinished: an entry is missing or changed since their last conversation started. */
export function tasksToRedo(state: RunState): TaskState[] {
  const touched = [...state.missing, ...state.changed].reduce((most, seq) => Math.max(most, seq), 0)
  return unfinishedTasks(state).filter((task) => {
    // in a completed run, a task without attempts had inherited its output
    if (task.attempts.length === 0) return state.suspended?.reason === 'edited'
    return touched > conversationStart(state, state.attempts.get(task.attempts.at(-1) ?? ''))
  })
}

/** The entry that started the conversation of an attempt, perhaps in an earlier attempt. */
function conversationStart(state: RunState, attempt: AttemptState | undefined): number {
  const carried = attempt?.carries && state.attempts.get(attempt.carries.path)
  return carried && carried.task === attempt.task ? conversationStart(state, carried) : (attempt?.seq ?? Infinity)
}

function unfinishedTasks(state: RunState): TaskState[] {
  const isUnfinished = (task: TaskState): boolean =>
    // a failed step is finished, since a flow may continue after it; a step that a flow left may lack its completion
    state.flow ? task.status === 'running' || task.status === 'left' : !isDone(task)
  return [...state.tasks.values()].filter((task) => !task.removed && isUnfinished(task))
}
