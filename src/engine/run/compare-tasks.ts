// Compares the tasks of a run with those of its crew, before the run is executed. A task continues the recorded work
// under its name. What becomes of recorded work for which the crew has no task is never guessed:
//
//   the task of the work     decided by the caller or code    then the work
//   is in the crew           -                                is continued
//   is gone                  renamed, or `was`                continues under the new name
//   is gone                  removed                          is given up: no more questions, child runs cancelled
//   is of another kind now   removed                          is given up, and the task starts from scratch
//   is gone or changed kind  nothing                          is orphaned: the run is not executed
//
// Unfinished runs of nested crews are compared in the same way; their tasks are addressed as `settle/payout`.
import { defined, nearest } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import type { OrphanedTask, TaskListChanges } from '../../journal/entries.ts'
import { describeTaskChanges, suggestDecision, describeOrphan } from '../../journal/describe.ts'
import { orphanedIn } from '../../journal/state/change-tasks.ts'
import type { AttemptState, RunState, TaskState } from '../../journal/state/state.ts'
import type { CrewDefinition, TaskDecisions, TaskDefinition } from '../definition.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import { taskOfItem } from '../../journal/paths.ts'
import { activeChildren } from '../../journal/state/tally.ts'
import { childReader, type ReadChild } from '../task/children.ts'
import { describeRecord, hasRecord, statesWithin } from './recorded-work.ts'
import { checkAddresses, checkKickedOff, isKnown } from './check-addresses.ts'

export interface TaskComparison {
  /** How the crew's tasks differ from the run's; undefined if they don't. */
  readonly changes: TaskListChanges | undefined
  /** Recorded work without a task, of the run and of the unfinished runs of its nested crews. */
  readonly orphaned: readonly OrphanedTask[]
  /** The reader that the comparison used, so that a plan reads no child run again. */
  readonly readChild?: ReadChild | undefined
}

/**
 * Like `compareTasks`, for a run that is only shown. Adds the orphaned tasks of crews that its functions kicked off, as
 * recorded when the functions were last called.
 */
export async function comparedForView(
  crew: CrewDefinition,
  state: RunState,
  decisions: TaskDecisions,
  store: Store,
): Promise<TaskComparison> {
  const compared = await compareTasks(crew, state, decisions, store)
  const { renamed = {}, removed = [] } = decisions
  const decided = [...Object.keys(renamed), ...removed]
  const known = new Set(compared.orphaned.map(({ task }) => task))
  const recorded = orphanedIn(state).filter(
    ({ task }) => isKickedOff(crew, task) && !known.has(task) && !decided.includes(task),
  )
  return { ...compared, orphaned: [...compared.orphaned, ...recorded] }
}

/** The steps of a flow are found while it runs, so nothing can be compared before. */
function compareFlow(
  { run }: RunState,
  { renamed = {}, removed = [] }: TaskDecisions,
  readChild?: ReadChild,
): TaskComparison {
  const step = [...Object.keys(renamed), ...removed].find((address) => !address.includes('/'))
  if (step === undefined) return { changes: undefined, orphaned: [], readChild }
  const words = `${step} is a step of run ${run}, which is a flow; give the step its earlier name in the code: was: '${step}'`
  throw new RepriseError('OPTION_INVALID', words, { runId: run })
}

/** Whether an address is that of a task in a crew that a function kicks off. */
function isKickedOff(crew: CrewDefinition, address: string): boolean {
  const [first = '', ...rest] = address.split('/')
  const task = taskNow(crew, first)
  if (!task || rest.length === 0) return false
  return task.code !== undefined || (task.child !== undefined && isKickedOff(task.child.crew, rest.join('/')))
}

/**
 * Compares the tasks of a run with the crew's. Without a store, the run is only the origin of a new run, so the runs of
 * nested crews are not compared. Rejects with OPTION_INVALID if a decision does not fit, such as one about an unknown
 * task.
 */
export async function compareTasks(
  crew: CrewDefinition,
  state: RunState,
  decisions: TaskDecisions,
  store?: Store,
  readChild: ReadChild | undefined = store && childReader(store),
): Promise<TaskComparison> {
  if (crew.flow) return compareFlow(state, decisions, readChild)
  const renamed = resolveRenames(crew, state, decisions)
  const removed = resolveRemovals(state, decisions)
  const orphaned: OrphanedTask[] = []
  const before = new Set([...state.tasks.values()].filter(isOwnTask).map(({ name }) => name))
  const added = crew.tasks.map(({ name }) => name).filter((name) => !before.has(name))
  const unclaimed = crew.tasks.filter(({ name }) => added.includes(name) && !renamed.has(name))
  const suggested = new Set<string>()
  let candidates: readonly TaskDefinition[] = []
  const byOldName = new Map([...renamed].map(([now, old]) => [old, now]))
  const used = new Set<string>()
  for (const known of state.tasks.values()) {
    if (!hasRecord(known) || known.removed) continue
    // the items of a task are compared with it; what becomes of a task that is gone, becomes of its items
    const { of = known.name } = known
    const name = byOldName.get(of) ?? of
    const task = taskIn(crew, name)
    const claimed = task !== undefined && (renamed.get(name) ?? name) === of
    if (known.of !== undefined && (!claimed || !task.forEach || removed.has(of))) continue
    const [child] = activeChildren(state, known.name)
    const row = child && (await store?.row(child.run))
    const attempt = lastAttempt(state, known)
    const because = claimed && store ? mismatchReason(task, attempt, row, known) : undefined
    if (removed.has(known.name)) {
      if (claimed && because === undefined) dropRecordedRemoval(crew, state, known.name, removed)
    } else if (!claimed || because !== undefined) {
      candidates = claimed ? [] : unclaimed.filter((one) => mismatchReason(one, attempt, row) === undefined)
      const free = candidates.filter((one) => !suggested.has(one.name))
      const suggestion = nearestTask(known, free)
      if (suggestion !== undefined) suggested.add(suggestion)
      orphaned.push({
        task: known.name,
        holds: describeRecord(state, known, readChild ? await statesWithin(state, known, readChild) : []),
        ...defined({ because, nearest: suggestion }),
      })
    } else if (task.child && row && row.status !== 'completed') {
      const childState = await readChild?.(row.run)
      if (!childState) continue
      used.add(known.name)
      const inner = decisionsWithin(decisions, [known.name])
      const within = await compareTasks(task.child.crew, childState, inner, store, readChild).catch(
        (error: unknown) => {
          throw withChildAddress(error, state.run, known.name)
        },
      )
      orphaned.push(...within.orphaned.map((orphan) => ({ ...orphan, task: `${known.name}/${orphan.task}` })))
    } else if (task.code && child) {
      // the crews that a function kicks off are only known when it is called
      used.add(known.name)
      const { renamed: inner = {}, removed: gone = [] } = decisionsWithin(decisions, [known.name])
      for (const address of [...Object.keys(inner), ...gone])
        await checkKickedOff(state, `${known.name}/${address}`, store)
    }
  }
  const [orphan] = orphaned
  const [only] = candidates
  // if one task is gone and one is new, they may be the same
  const isOwn = orphan?.task.includes('/') === false
  if (orphan && only && isOwn && orphaned.length === 1 && unclaimed.length === 1)
    orphaned[0] = { nearest: only.name, ...orphan }
  await checkAddresses(state, decisions, used, store)
  const gone = [...before].filter((name) => !taskIn(crew, name) && !byOldName.has(name))
  return { changes: changesOf(added, [...new Set([...gone, ...removed])], renamed), orphaned, readChild }
}

/** Returns the address of an earlier call's task, such as `settle/pay`, with the names that the tasks have now. */
export function currentAddress(crew: Pick<CrewDefinition, 'tasks'>, address: string): string {
  const [first = '', ...rest] = address.split('/')
  const task = taskNow(crew, first)
  const within = rest.join('/')
  if (!task) return address
  const of = task.name === first || task.was.includes(first) ? undefined : taskOfItem(first)
  const name = of === undefined ? task.name : task.name + first.slice(of.length)
  return within === '' ? name : `${name}/${task.child ? currentAddress(task.child.crew, within) : within}`
}

/** Returns the decisions about the tasks of a nested crew. `names`: all names that the task with that crew has had. */
export function decisionsWithin(
  { renamed = {}, removed = [] }: TaskDecisions,
  names: readonly string[],
): TaskDecisions {
  const within = (address: string): string[] =>
    names.flatMap((name) => (address.startsWith(`${name}/`) ? [address.slice(name.length + 1)] : []))
  return {
    renamed: Object.fromEntries(
      Object.entries(renamed).flatMap(([address, now]) => within(address).map((name) => [name, now])),
    ),
    removed: removed.flatMap(within),
  }
}

/** Returns all names that a task has had in this run. */
export function pastNames(state: RunState, name: string): string[] {
  const { taskChanges } = state
  const of = state.tasks.get(name)?.of
  if (of !== undefined) return pastNames(state, of).map((old) => old + name.slice(of.length))
  const names = [name]
  for (const { renamed = {} } of taskChanges.toReversed())
    names.push(...Object.keys(renamed).filter((old) => names.includes(renamed[old] ?? '')))
  return names
}

/** Returns TASKS_CHANGED, with what each orphaned task holds and a next step that decides about all of them. */
export function tasksChangedError(
  crew: CrewDefinition,
  run: string,
  orphaned: readonly OrphanedTask[],
  earlier?: TaskDecisions,
): RepriseError {
  const words = `run ${run} has recorded work that crew ${crew.name} has no task for: ${orphaned.map(describeOrphan).join('; ')}`
  const details = { runId: run, task: orphaned[0]?.task, next: suggestDecision(run, orphaned, earlier) }
  return new RepriseError('TASKS_CHANGED', words, details)
}

/**
 * Converts an error that refuses the resume of a child run to one about the parent, since a caller passes options only
 * to the parent's resume. Returns other errors unchanged.
 */
export function withChildAddress(error: unknown, runId: string, address: string): unknown {
  const isRefusal = RepriseError.isInstance(error) && ['TASKS_CHANGED', 'OPTION_INVALID'].includes(error.code)
  if (!isRefusal) return error
  const next = error.next?.type === 'resume' ? { ...error.next, runId } : undefined
  return new RepriseError(error.code, `${address}: ${error.reason}`, { runId, next, cause: error.cause })
}

/** Whether an error refuses a caller's decisions about the tasks of this run. */
export function refusesDecisions(error: unknown, { run }: RunState): error is RepriseError {
  return RepriseError.isInstance(error) && error.code === 'OPTION_INVALID' && error.runId === run
}

/** Throws TASKS_CHANGED if there are changes, for a resume that accepts none. */
export function refuseChanges(state: RunState, changes: TaskListChanges | undefined): void {
  if (!changes) return
  throw new RepriseError(
    'TASKS_CHANGED',
    `the tasks of run ${state.run} have changed: ${describeTaskChanges(changes)}; nothing was executed`,
    {
      runId: state.run,
      next: { type: 'resume', runId: state.run, changed: 'continue' },
    },
  )
}

/** Returns the old name of each renamed task, by its new name. The caller's decisions take precedence over `was`. */
function resolveRenames(
  crew: CrewDefinition,
  state: RunState,
  { renamed = {}, removed = [] }: TaskDecisions,
): Map<string, string> {
  const found = new Map<string, string>()
  for (const [old, now] of Object.entries(renamed)) {
    if (old.includes('/') || (!isKnown(state, old) && wasRenamed(state, old, now))) continue
    const refuse = (why: string): never => {
      throw new RepriseError('OPTION_INVALID', renameRefusal(state, old, now, why))
    }
    if (!isKnown(state, old)) refuse(`it has no task ${old}`)
    if (removed.includes(old)) refuse('it is removed, too')
    if (!taskIn(crew, now))
      refuse(`crew ${crew.name} has no task ${now}; it has ${crew.tasks.map(({ name }) => name).join(', ')}`)
    if (found.has(now)) refuse(`${found.get(now)} becomes ${now} too`)
    found.set(now, old)
  }
  for (const { name, was } of crew.tasks) {
    const old =
      found.has(name) || hasRecordOf(state, name)
        ? undefined
        : was.find((one) => isKnown(state, one) && !taskIn(crew, one))
    if (old !== undefined && !removed.includes(old) && ![...found.values()].includes(old)) found.set(name, old)
  }
  const moved = new Set(found.values())
  for (const [now, old] of found) {
    if (!hasRecordOf(state, now) || moved.has(now) || removed.includes(now)) continue
    throw new RepriseError('OPTION_INVALID', renameRefusal(state, old, now, `task ${now} has recorded work of its own`))
  }
  return found
}

function renameRefusal({ run }: RunState, old: string, now: string, why: string): string {
  return `task ${old} cannot be renamed to ${now} in run ${run}: ${why}`
}

function resolveRemovals(state: RunState, { removed = [] }: TaskDecisions): Set<string> {
  const names = removed.filter((name) => !name.includes('/'))
  const unknown = names.find((name) => !state.tasks.has(name) && state.through !== name)
  if (unknown !== undefined)
    throw new RepriseError(
      'OPTION_INVALID',
      `task ${unknown} cannot be removed from run ${state.run}: it has no such task`,
    )
  return new Set(names.filter((name) => !state.tasks.get(name)?.removed))
}

/**
 * Drops the removal of a task that the crew has, if an earlier resume recorded that removal. Otherwise throws
 * OPTION_INVALID.
 */
function dropRecordedRemoval(crew: CrewDefinition, state: RunState, name: string, removed: Set<string>): void {
  if (!wasRemoved(state, name)) {
    const words = `task ${name} cannot be removed from run ${state.run}: crew ${crew.name} still has it; to execute it again, invalidate it`
    throw new RepriseError('OPTION_INVALID', words)
  }
  removed.delete(name)
}

function changesOf(
  added: readonly string[],
  removed: readonly string[],
  renames: ReadonlyMap<string, string>,
): TaskListChanges | undefined {
  const fresh = added.filter((name) => !renames.has(name))
  if (removed.length === 0 && fresh.length === 0 && renames.size === 0) return undefined
  return defined({
    added: fresh.length > 0 ? fresh : undefined,
    removed: removed.length > 0 ? removed : undefined,
    renamed: renames.size > 0 ? Object.fromEntries([...renames].map(([now, old]) => [old, now])) : undefined,
  })
}

/** Returns why the task cannot continue the unfinished attempt recorded under its name, if it cannot. */
function mismatchReason(
  task: TaskDefinition,
  attempt: AttemptState | undefined,
  child: Pick<RunRow, 'crew'> | undefined,
  { items, of }: Pick<TaskState, 'items' | 'of'> = {},
): string | undefined {
  if (attempt?.status !== 'open' && attempt?.status !== 'refused') return undefined
  const one = attempt.child !== undefined ? 'a nested crew' : attempt.pinned ? 'an agent task' : 'a function task'
  const before = items ? 'a task with forEach' : one
  const isList = task.forEach !== undefined && of === undefined
  const now = isList
    ? 'a task with forEach'
    : task.child
      ? 'a nested crew'
      : task.code
        ? 'a function task'
        : 'an agent task'
  if (before !== now) return `it was ${before} and is ${now} now`
  if (task.child && child && child.crew !== task.child.crew.name)
    return `its child run is of crew ${child.crew}, but the task is crew ${task.child.crew.name} now`
  return undefined
}

/** Returns the new task that is most likely the given task under another name. */
function nearestTask({ name, description }: TaskState, fresh: readonly TaskDefinition[]): string | undefined {
  const same = fresh.filter((task) => task.description !== '' && task.description === description)
  if (same.length === 1) return same[0]?.name
  const names = fresh.map((task) => task.name)
  return nearest(name, names)
}

function hasRecordOf(state: RunState, name: string): boolean {
  const task = state.tasks.get(name)
  return task !== undefined && !task.removed && hasRecord(task)
}

function wasRenamed({ taskChanges }: RunState, old: string, now: string): boolean {
  return taskChanges.some(({ renamed = {} }) => renamed[old] === now)
}

function wasRemoved({ taskChanges }: RunState, name: string): boolean {
  return taskChanges.some(({ removed = [] }) => removed.includes(name))
}

function lastAttempt(state: RunState, { attempts }: TaskState): AttemptState | undefined {
  return state.attempts.get(attempts.at(-1) ?? '')
}

function taskIn(crew: Pick<CrewDefinition, 'tasks'>, name: string): TaskDefinition | undefined {
  return crew.tasks.find((task) => task.name === name)
}

/** Returns the task that has the name now, or had it before; for an item, the task that lists it. */
function taskNow(crew: Pick<CrewDefinition, 'tasks'>, name: string): TaskDefinition | undefined {
  const task = taskIn(crew, name) ?? crew.tasks.find(({ was }) => was.includes(name))
  const of = task ? undefined : taskOfItem(name)
  const list = of === undefined ? undefined : taskNow(crew, of)
  return task ?? (list?.forEach && list)
}

/** Whether it is a present task of the run, and not an item. */
function isOwnTask({ removed, of }: TaskState): boolean {
  return !removed && of === undefined
}
