// Counts of tasks and sums of usage, which the fold keeps up to date because they are needed after every step: a search
// through all tasks would make the steps of a large crew slow. Most entries change only the task of their path; after
// the others, everything is counted again.
import type { Entry, EntryType, TaskFailure, Usage } from '../entries.ts'
import { childAddress, childName, isNestedAttempt, rootAttempt } from '../paths.ts'
import type { EntryRow } from '../table/entry-row.ts'
import { taskNameAt } from './at-path.ts'
import { type AttemptState, type RunState, type TaskState, addTo, noUsage, type MutableUsage } from './state.ts'

export interface Tally {
  /** Declared tasks that are done, except failed ones. */
  done: number
  /** Failed tasks that the run, or a nested crew, continued without. Flows: failed steps. */
  failures: number
  /** Tasks that the crew no longer declares. */
  removed: number
  /** Tasks with child runs that were started since the task was last done. */
  readonly crews: Set<string>
  /** Names of tasks that became done or stopped being done: one per change. Changes by a resume are left out. */
  readonly doneChanges: string[]
}

export function newTally(): Tally {
  return { done: 0, failures: 0, removed: 0, crews: new Set(), doneChanges: [] }
}

/** Applies an entry that changes only the task of its path, and updates the counts. */
export function applyAndTally(
  state: RunState,
  entry: Entry,
  row: Pick<EntryRow<EntryType>, 'apply' | 'startsChild'>,
): void {
  const { tally } = state
  const { path = '' } = entry
  const name = taskNameAt(state, path)
  const known = state.tasks.get(name)
  if (known?.items || 'items' in entry) return applyToList(state, entry, row)
  const list = known?.of === undefined ? undefined : state.tasks.get(known.of)
  const listed = list && countsOf(list)
  const before = known ? countsOf(known) : noCounts
  row.apply(state, entry)
  const task = known ?? state.tasks.get(name)
  if (!task) return
  if (list && listed) noteCounts(tally, list, listed)
  noteCounts(tally, task, before)
  if (!isNestedAttempt(path)) tallyCrew(state, task)
  else if (row.startsChild?.(entry)) tally.crews.add(name)
}

/** Notes how the counts of a task have changed. */
function noteCounts(tally: Tally, task: TaskState, before: Counts): void {
  const after = countsOf(task)
  if (after.isDone !== before.isDone) tally.doneChanges.push(task.name)
  tally.done += after.done - before.done
  tally.failures += after.failures - before.failures
}

/** Applies an entry about a task with `forEach`, which may change its items as well. */
function applyToList(state: RunState, entry: Entry, row: Pick<EntryRow<EntryType>, 'apply'>): void {
  const doneTasks = (): Set<string> =>
    new Set([...state.tasks.values()].flatMap((task) => (isDone(task) ? [task.name] : [])))
  const before = doneTasks()
  row.apply(state, entry)
  state.tally.doneChanges.push(...before.symmetricDifference(doneTasks()))
  tallyAll(state)
}

/** Counts all tasks again, after an entry that may have changed any of them. */
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

const noCounts: Counts = { isDone: false, done: 0, failures: 0 }

function countsOf(task: TaskState): Counts {
  const { removed, final, output, status, after } = task
  const done = isDone(task)
  if (removed) return { ...noCounts, isDone: done }
  // a flow may go on after any failure
  const failed = final || (status === 'failed' && after !== undefined)
  return { isDone: done, done: done && !final ? 1 : 0, failures: failed ? 1 : (output?.failures?.length ?? 0) }
}

/** Counts a skipped task as not done any more. */
export function untallySkipped({ tally }: RunState, { name, removed }: TaskState): void {
  tally.doneChanges.push(name)
  if (!removed) tally.done -= 1
}

/** Whether nothing is left to do for a task. */
export function isDone({ status, final }: TaskState): boolean {
  return status === 'completed' || status === 'skipped' || final === true
}

/** Whether a task has no output because it failed for good, or was skipped because of another failure. */
export function isMissing({ final, failed }: TaskState): boolean {
  return final === true || failed !== undefined
}

export type ChildAttempt = AttemptState & { readonly child: string }

/**
 * The child runs that a task started since it was last done; for kickoffs by its function, since the kickoff of that
 * name was last done. Until they are done, their usage is recorded only in their own journals.
 */
export function attemptsSinceDone(state: RunState, task: TaskState): ChildAttempt[] {
  // most tasks have none, and every entry about a task asks
  const mayHave = task.nested.length > 0 || task.attempts.some((path) => state.attempts.get(path)?.child !== undefined)
  if (!mayHave) return []
  const attempts = task.attempts.flatMap((path) => state.attempts.get(path) ?? [])
  const lastDone = attempts.findLastIndex((attempt) => attempt.status === 'completed')
  const since = attempts.slice(lastDone + 1)
  return [...since.filter(isChild), ...kickoffsSinceDone(state, task, since)]
}

function kickoffsSinceDone(state: RunState, { nested }: TaskState, since: readonly AttemptState[]): ChildAttempt[] {
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

/** `attemptsSinceDone` of all tasks. */
export function unfinishedCrews(state: RunState): ChildAttempt[] {
  return [...state.tally.crews].flatMap((name) => {
    const task = state.tasks.get(name)
    return task ? attemptsSinceDone(state, task) : []
  })
}

export interface ChildRun {
  /** The prefix of its questions: the name of the task, or of a kickoff by a function (`chapters/intro`). */
  readonly task: string
  /** The attempt that created it. */
  readonly path: string
  readonly run: string
}

/** The unfinished child runs of a task. A function may have several. */
export function activeChildren(state: RunState, task: string): ChildRun[] {
  const { attempts = [], kickoffs } = state.tasks.get(task) ?? {}
  return [attempts.at(-1) ?? '', ...(kickoffs?.values() ?? [])].flatMap((path) => {
    const attempt = state.attempts.get(path)
    if (attempt?.child === undefined || attempt.status !== 'open') return []
    return [{ task: childAddress(attempt.task, path), path, run: attempt.child }]
  })
}

/**
 * The failed tasks that a run continued without, in the order of the crew. Those of a finished nested crew begin with
 * the name of its task.
 */
export function taskFailures({ tasks }: RunState): TaskFailure[] {
  const own = [...tasks.values()].filter((task) => !task.removed)
  return own.flatMap(({ name, final, error, output }): readonly TaskFailure[] => {
    if (final && error) {
      const skipped = own.filter((other) => other.failed?.includes(name)).map((other) => other.name)
      return [{ task: name, error, skipped }]
    }
    return (output?.failures ?? []).map(({ task, skipped, ...failure }) => ({
      ...failure,
      task: `${name}/${task}`,
      skipped: skipped.map((other) => `${name}/${other}`),
    }))
  })
}

// What a run has spent: in total, and in parts that can be priced later. The price of a token depends on the model, the
// time and, for some models, the length of the call, so a part sums up the calls for which these are equal. The parts
// are in the listing row, so that adding up costs reads no journals.

/** The usage of the calls to one model within the same half hour and price step. */
export interface Spending {
  /** In UTC: `2026-11-16`. */
  readonly day: string
  /** The start of the half hour: `13:30`. Some providers charge less at night. */
  readonly time: string
  /** Calls of the whole day, in a run with many parts: `time` is meaningless. */
  readonly allDay?: true
  readonly model: string
  /** The highest price step that the input of each call exceeds. Absent if it exceeds none. */
  readonly over?: number
  /** The sum of a child run's calls, which may be in different price steps. */
  readonly mixed?: true
  readonly usage: MutableUsage
}

/**
 * Numbers of input tokens above which some model costs more per token. If a model has a price step that isn't here, the
 * calls of a part may lie on both sides of it, and the cost of that part is unknown.
 */
const priceSteps = [128_000, 199_999, 200_000, 271_999, 272_000, 512_000]

/** The listing row is written again with every finished task, so its size is limited: further parts are per day. */
const mostParts = 96

/** Adds usage to the total and to its part. `at`: when the calls were recorded. */
export function addSpending(
  { spent, spending }: Pick<RunState, 'spent' | 'spending'>,
  at: string,
  model: string,
  usage: Usage,
): void {
  addTo(spent, usage)
  const day = at.slice(0, 10)
  const time = `${at.slice(11, 14)}${at.slice(14, 16) < '30' ? '00' : '30'}`
  const over = priceSteps.findLast((step) => usage.input > step)
  const kind = over === undefined ? {} : usage.calls > 1 ? ({ mixed: true } as const) : { over }
  const part = partFor(spending, usage, { day, time, model, ...kind })
  addTo(part.usage, usage)
}

type PartKey = Omit<Spending, 'usage'>

/** Finds or adds the part that calls belong to. */
function partFor(spending: Map<string, Spending>, usage: Usage, key: PartKey): Spending {
  // while there is room, each mixed sum has its own part: two sums with a price may add up to one without
  const known = key.mixed ? undefined : spending.get(keyOf(key, usage))
  if (known) return known
  if (spending.size < mostParts) return addPart(spending, usage, key)
  const coarse = { ...key, time: '00:00', allDay: true } as const
  return spending.get(keyOf(coarse, usage)) ?? addPart(spending, usage, coarse)
}

function addPart(spending: Map<string, Spending>, usage: Usage, key: PartKey): Spending {
  const part = { ...key, usage: { ...noUsage } }
  spending.set(keyIn(spending, usage, key), part)
  return part
}

/** The price step after `over`, which is 0 below the first step. */
export function nextPriceStep(over: number): number {
  return priceSteps.find((step) => step > over) ?? Number.POSITIVE_INFINITY
}

/** Restores the parts of a listing row, so that usage can be added to them. */
export function restoreSpending(parts: readonly Spending[]): Map<string, Spending> {
  const spending = new Map<string, Spending>()
  for (const part of parts) {
    const usage = { ...part.usage }
    spending.set(keyIn(spending, usage, part), { ...part, usage })
  }
  return spending
}

function keyIn(spending: ReadonlyMap<string, Spending>, usage: Usage, key: PartKey): string {
  return key.mixed && !key.allDay ? `${spending.size}` : keyOf(key, usage)
}

/** Calls that can't be priced form their own parts, or they would hide the cost of the others. */
function keyOf({ day, time, allDay, model, over = 0, mixed }: PartKey, usage: Usage): string {
  return `${day} ${allDay ? 'all day' : time} ${mixed ? 'mixed' : over} ${isPriceable(usage)} ${model}`
}

/**
 * Whether usage can be priced. If a call has no tokens, its server didn't count them. If there are more cached tokens
 * than input, they come from a model object of an old interface version that doesn't count cached tokens as input.
 */
export function isPriceable({ calls, input, output, cacheRead = 0, cacheWrite = 0 }: Usage): boolean {
  if (![input, output, cacheRead, cacheWrite].every((count) => Number.isFinite(count) && count >= 0)) return false
  return cacheRead + cacheWrite <= input && (calls === 0 || input + output > 0)
}
