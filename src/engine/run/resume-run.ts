// Continues an existing run, in steps that the caller takes one after another:
//
//   openRun → (the caller reads the state) → prepareResume → (the caller checks, plans, asks) → enterRun
//
// Before enterRun, nothing is written, unless prepareResume parks the run. A caller that stops early releases the hold.
import { defined } from '../../base/options.ts'
import type { DeclaredTask, Limit, TaskListChanges, DispatchedBy } from '../../journal/entries.ts'
import { isHandEdited, tasksToRedo, withTaskChanges } from '../../journal/state/change-tasks.ts'
import { givenUpReason, suggestDecision } from '../../journal/describe.ts'
import { digest } from '../../journal/hash.ts'
import { parentRunId } from '../../journal/paths.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import { RepriseError } from '../../base/errors.ts'
import type { ChangedPolicy, CrewDefinition, Engine, ExecuteOptions, TaskDecisions } from '../definition.ts'
import { checkFormat, checkReadable, readRun, runNotFoundError } from '../../read/read-run.ts'
import {
  reserveRunInTurn,
  openLeasedTree,
  type LeasedTree,
  requestLease,
  type TimedLease,
} from '../lease/leased-tree.ts'
import { openHold, type Hold } from '../lease/hold.ts'
import { runCancelledError, cancelRemovedTasks } from '../inbox/inbox.ts'
import { moveOf, runMoved } from '../../read/row-summary.ts'
import { warnOf } from '../warn-of.ts'
import { compareTasks, refuseChanges, tasksChangedError } from './compare-tasks.ts'
import { deathLimit } from '../../stores/rules/ready.ts'
import type { Lease, RunRow, Store } from '../../stores/store.ts'
import { patienceOf, taskDeclarations, taskDeclaration } from './create-run.ts'

/** A run that this process has opened. */
export interface OpenedRun {
  readonly state: RunState
  /** The right to continue the run; undefined if there is nothing left to execute here. */
  readonly hold: Hold | undefined
}

/**
 * Takes the lease of a run and reads the run. A completed run is only read, without a lease. Rejects with
 * RUN_NOT_FOUND, also for another crew's run; with RUN_CANCELLED; with RUN_HELD, naming the holder; or with
 * JOURNAL_DAMAGED, for example if the journal's format is unknown.
 */
export async function openRun(
  engine: Engine,
  crew: CrewDefinition,
  run: string,
  claimed: { readonly row?: RunRow | undefined; readonly lease?: TimedLease | undefined } = {},
): Promise<OpenedRun> {
  const { store, world } = engine
  const row = claimed.row ?? (await store.row(run))
  if (!row) throw runNotFoundError(store, run)
  checkFormat(row)
  if (isEnded(row.status)) {
    const { state } = await readRun(store, run)
    checkResumable(crew, state)
    // otherwise a person has undone a task in the journal by hand, and the run continues
    if (state.status === 'completed') return { state, hold: undefined }
  }
  const free = await reserveRunInTurn(engine, run)
  try {
    const acquire = (): Promise<Lease> => store.acquire(run, world.owner, world.leaseMs)
    const tree = openLeasedTree(engine, claimed.lease ?? (await requestLease(world, acquire)), free)
    try {
      // read only now that the lease is taken, and no other process can append
      const read = await readRun(store, run)
      checkResumable(crew, read.state)
      const hold = openHold(engine, tree, read, { ...patienceOf(crew, run), ownsTree: true })
      return { state: hold.state, hold }
    } catch (error) {
      await tree.release()
      throw error
    }
  } catch (error) {
    free()
    throw error
  }
}

/** Opens a child run under the lease of its root. Rejects with RUN_CANCELLED if it was cancelled. */
export async function openChild(
  engine: Engine,
  crew: CrewDefinition,
  run: string,
  tree: LeasedTree,
): Promise<OpenedRun> {
  return tree.exclusively(async () => {
    const read = await readRun(engine.store, run)
    checkResumable(crew, read.state)
    return { state: read.state, hold: openHold(engine, tree, read) }
  })
}

export interface ResumeChoices {
  readonly decisions?: TaskDecisions | undefined
  readonly changed?: ChangedPolicy | undefined
  /** The task after which the run stops. */
  readonly through?: string | undefined
  /** A worker claimed the run. It keeps its `through`, and is parked where a resume would be refused. */
  readonly isClaimed?: boolean
}

/** How a run is continued. */
export interface Resumption {
  /** The state with `changes` applied. */
  readonly state: RunState
  /** Changes to the task list since the run was last executed. */
  readonly changes: TaskListChanges | undefined
  /** The task after which the run stops. */
  readonly through: string | undefined
}

/**
 * Compares the run's tasks with the crew's. Returns undefined if the run was parked instead, because every process
 * that resumed it died, or because it has recorded work for which the crew has no task. Rejects with TASKS_CHANGED if
 * a caller must decide about such work, or refuses all changes; with OPTION_INVALID if a decision is about an unknown
 * task; with RUN_MOVED if the run was moved to another store.
 */
export async function prepareResume(
  hold: Hold,
  crew: CrewDefinition,
  { decisions = {}, changed, through, isClaimed = false }: ResumeChoices,
): Promise<Resumption | undefined> {
  const { state, engine } = hold
  const move = moveOf(state)
  if (move) throw runMoved(state.run, move)
  if (await isFatal(engine.store, state)) {
    await hold.append([{ type: 'run.suspended', reason: 'takeovers' }])
    const facts = `run ${state.run} ${givenUpReason}`
    const next = { type: 'resume', runId: state.run } as const
    warnOf(crew, { facts, next })
    return undefined
  }
  checkKind(crew, state)
  const compared = await compareTasks(crew, state, decisions, engine.store)
  const { changes } = compared
  const last = isClaimed ? currentThrough(state, changes) : through
  const hasLast = !isClaimed || last === undefined || crew.tasks.some(({ name }) => name === last)
  const orphaned = hasLast
    ? compared.orphaned
    : [...compared.orphaned, { task: last, holds: ['the run stops after it'] }]
  if (orphaned.length > 0) {
    const isChild = parentRunId(state.run) !== undefined
    const error = tasksChangedError(crew, state.run, orphaned, decisions)
    if (!isClaimed && !isChild) throw error
    // the caller's decisions are not recorded here, so a parked child run records its orphaned tasks as if undecided
    const parked = isChild ? (await compareTasks(crew, state, {}, engine.store, compared.readChild)).orphaned : orphaned
    await hold.append([{ type: 'run.suspended', reason: 'tasks-changed', orphaned: parked }])
    // for a child run, the parent reports it
    if (!isChild) warnOf(crew, { facts: error.facts, next: suggestDecision(state.run, orphaned) })
    return undefined
  }
  if (changed === 'refuse') refuseChanges(state, changes)
  return { state: withTaskChanges(state, changes), changes, through: last }
}

interface EntryOptions {
  readonly budget?: Limit | undefined
  readonly via?: DispatchedBy | undefined
  /** Flows: further failed steps to execute again. The steps that ended the run are anyway. */
  readonly retry?: ExecuteOptions['retry']
}

/** Returns the failed steps of a flow that are executed again. Throws OPTION_INVALID if a given one has not failed. */
function stepsToRetry(
  { run, tasks, failedSteps = [] }: RunState,
  retry: ExecuteOptions['retry'],
): string[] | undefined {
  const failed = [...tasks.values()].flatMap(({ name, status }) => (status === 'failed' ? [name] : []))
  const unknown = typeof retry === 'object' ? retry.find((name) => !failed.includes(name)) : undefined
  if (unknown !== undefined) {
    const has = failed.length === 0 ? 'no step of it has' : `failed are ${failed.join(', ')}`
    throw new RepriseError('OPTION_INVALID', `step ${unknown} of run ${run} has not failed; ${has}`, { runId: run })
  }
  const steps = retry === 'failed' ? failed : [...new Set([...failedSteps, ...(retry ?? [])])]
  return steps.length > 0 ? steps : undefined
}

/** Throws TASKS_CHANGED if a crew became a flow, or a flow a crew. */
function checkKind(crew: CrewDefinition, { run, flow }: RunState): void {
  if ((crew.flow !== undefined) === (flow === true)) return
  const [was, is] = flow ? ['flow', 'crew'] : ['crew', 'flow']
  const words = `run ${run} was made by a ${was} named ${crew.name}, which is a ${is} now; give the ${is} another name`
  throw new RepriseError('TASKS_CHANGED', words, { runId: run })
}

/** Records that this process continues the run. */
export async function enterRun(
  hold: Hold,
  crew: CrewDefinition,
  { changes, through }: Resumption,
  { budget, via, retry }: EntryOptions = {},
): Promise<void> {
  const { state, engine } = hold
  const tasks = taskDeclarations(crew, state.inputs)
  const areEqual = crew.flow !== undefined || digest(tasks as never) === digest(recordedDeclarations(state) as never)
  const edited = isHandEdited(state)
    ? {
        missing: [...state.missing],
        changed: [...state.changed],
        tasks: tasksToRedo(state).map((task) => task.name),
      }
    : undefined
  const version = crew.version === state.version ? undefined : crew.version
  const steps = crew.flow && stepsToRetry(state, retry)
  const resumed = { via, version, through, tasks: areEqual ? undefined : tasks, changes, budget, edited, retry: steps }
  await hold.append([{ type: 'run.resumed', owner: engine.world.owner, ...defined(resumed) }])
  await cancelRemovedTasks(hold)
}

/** Prepares and enters an opened run, without asking. Without a hold in the result, nothing is left to execute. */
export async function continueRun(
  opened: OpenedRun,
  crew: CrewDefinition,
  choices: ResumeChoices = {},
): Promise<OpenedRun> {
  const { state, hold } = opened
  if (!hold) return opened
  const resumption = state.status === 'completed' ? undefined : await prepareResume(hold, crew, choices)
  if (resumption) await enterRun(hold, crew, resumption)
  else await hold.release()
  return { state, hold: resumption && hold }
}

/** Does `work`, and releases the run if it fails. */
export async function orRelease<T>({ hold }: OpenedRun, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await hold?.release().catch(() => undefined)
    throw error
  }
}

/** Returns the current name of the task after which the run stops. */
function currentThrough(
  { through }: RunState,
  { renamed = {}, removed = [] }: TaskListChanges = {},
): string | undefined {
  if (through === undefined || removed.includes(through)) return undefined
  return renamed[through] ?? through
}

/**
 * Whether the run seems to kill its processes. Journal and store must agree: the journal with `deathLimit` lives in a
 * row that were cut off, the store with as many deaths (rules/ready.ts). Either alone may err: a process that was
 * paused, or stopped during an outage of the store, cuts a life off without dying; a claim whose reply was lost may
 * count as a death, but begins no life.
 */
async function isFatal(store: Store, { run, status, fruitless }: RunState): Promise<boolean> {
  if (status !== 'running' || fruitless < deathLimit || parentRunId(run) !== undefined) return false
  return (await store.tries(run)).deaths >= deathLimit
}

/** Throws if the crew cannot continue the run: RUN_CANCELLED, or the errors of `checkReadable`. */
export function checkResumable(crew: CrewDefinition, state: RunState): void {
  checkReadable(state, crew.name)
  if (state.status === 'cancelled') throw runCancelledError(state.run)
}

function recordedDeclarations(state: RunState): DeclaredTask[] {
  return [...state.tasks.values()].filter((task) => !task.removed && task.of === undefined).map(taskDeclaration)
}
