// How a run comes into being and into a process: created, queued for a worker, or taken up. Creating and taking up give
// a hold, or the state of a run that needs nothing more here.
import { RepriseError } from '../../base/errors.ts'
import { defined } from '../../base/defined.ts'
import { encodeEntry, type EncodedEntry } from '../../journal/codec.ts'
import type {
  DeclaredTask,
  Entry,
  EntryBodies,
  Limit,
  NewEntry,
  Priority,
  TaskListChanges,
  DispatchedBy,
} from '../../journal/entries.ts'
import { isHandEdited, tasksToRedo } from '../../journal/state/hand-edits.ts'
import { suggestDecision } from '../../journal/describe.ts'
import { withTaskChanges } from '../../journal/state/change-tasks.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import { noFiles, type Files } from '../../journal/files.ts'
import { digest } from '../../journal/hash.ts'
import { parentRunId } from '../../journal/paths.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import type { Patience } from '../../stores/patient/patience.ts'
import type { ChangedPolicy, CrewDefinition, Engine, Inputs, TaskDecisions } from '../definition.ts'
import { fileBlobs } from '../read/run-files.ts'
import { checkFormat } from '../read/check-format.ts'
import { reserveRun, reserveRunInTurn } from '../lease/local-runs.ts'
import { openHold, toBatch, type Hold } from '../lease/hold.ts'
import { runCancelledError } from '../inbox/inbox.ts'
import { cancelRemovedTasks } from '../inbox/cancel-children.ts'
import { requestLease, type TimedLease } from '../lease/lease-keeper.ts'
import { currentMoment } from '../moment.ts'
import { openLeasedTree, type LeasedTree } from '../lease/leased-tree.ts'
import { givenUpReason } from '../read/due.ts'
import { moveOf, runMoved } from '../read/moved.ts'
import { readRun } from '../read/read-run.ts'
import { warnOf } from '../warn-of.ts'
import { otherCrewError, runNotFoundError } from '../read/run-not-found.ts'
import { listingRow } from '../read/row.ts'
import { compareTasks, currentAddress, refuseChanges, tasksChangedError } from './compare-tasks.ts'
import { deathLimit } from '../../stores/rules/ready.ts'
import type { Lease, RunRow, Store } from '../../stores/store.ts'

export interface NewRun {
  readonly run: string
  /** That of a child run. Left out: a new one. */
  readonly incarnation?: string | undefined
  readonly inputs: Inputs
  /** As the caller gave them, where `beforeKickoff` changed them. */
  readonly given?: Inputs | undefined
  /** The bytes of files that were just read; those of others come from the run that this one is made from. */
  readonly files?: Files | undefined
  readonly by?: string | undefined
  /** The task after which it stops. */
  readonly through?: string | undefined
  readonly priority?: Priority | undefined
  /** What else `run.created` says about a run that is made from another, or reuses outputs of others. */
  readonly origin?: RunOrigin
  /** Entries that follow it in the same append. */
  readonly entries?: readonly NewEntry[]
}

export type RunOrigin = Pick<
  EntryBodies['run.created'],
  'parent' | 'plan' | 'calls' | 'lost' | 'effects' | 'reuse' | 'module' | 'trials'
>

/**
 * Undefined when a run with that id exists already: then nothing was written. `within`: what the run works for, whose
 * lease it is created under.
 */
export async function createRun(
  engine: Engine,
  crew: CrewDefinition,
  fresh: NewRun,
  within?: LeasedTree,
): Promise<Hold | undefined> {
  const { store, world } = engine
  const { owner, leaseMs } = world
  const made = currentMoment(world)
  const { state, hash, encoded, batch } = await firstBatch(engine, crew, fresh, within?.lease.token ?? 1)
  const free = within ? () => {} : reserveRun(engine, fresh.run)
  try {
    const asked = within?.lease ?? { owner, ttlMs: leaseMs }
    const lease = await requestLease(world, async () => (await store.create(listingRow(state), batch, asked)).lease)
    if (lease) {
      engine.appended?.(fresh.run, encodedEntries(encoded))
      const unit = within ?? openLeasedTree(engine, lease)
      const hold = openHold(engine, unit, { state, hash }, { ...patienceOf(crew, fresh.run), made })
      return within ? hold : withLeaseRelease(hold, free)
    }
  } catch (error) {
    free()
    throw error
  }
  free()
  return undefined
}

export interface QueuedRun extends NewRun {
  /** A worker does not begin it before. */
  readonly notBefore?: Date | undefined
}

/** Creates a run that waits for a worker. False when one with that id exists already: then nothing was written. */
export async function queueRun(engine: Engine, crew: CrewDefinition, fresh: QueuedRun): Promise<boolean> {
  const { notBefore } = fresh
  const queued = { queued: true as const, ...defined({ notBefore: notBefore?.toISOString() }) }
  // nobody has held it yet
  const { state, encoded, batch } = await firstBatch(engine, crew, fresh, 0, queued)
  const { created } = await engine.store.create(listingRow(state), batch)
  if (created) engine.appended?.(fresh.run, encodedEntries(encoded))
  return created
}

/** `run.created`, what follows it in the same append, and what they come to. */
async function firstBatch(
  { store, world }: Engine,
  crew: CrewDefinition,
  {
    run,
    incarnation = world.newIncarnation(),
    inputs,
    given,
    files = noFiles,
    by,
    through,
    priority,
    origin,
    entries = [],
  }: NewRun,
  token: number,
  queued?: Pick<EntryBodies['run.created'], 'queued' | 'notBefore'>,
) {
  const created: NewEntry = {
    type: 'run.created',
    run,
    incarnation,
    crew: crew.name,
    version: crew.version,
    inputs,
    ...defined({ given }),
    tasks: taskDeclarations(crew, inputs),
    owner: world.owner,
    ...origin,
    ...(origin?.calls
      ? { calls: origin.calls.map((call) => ({ ...call, task: currentAddress(crew, call.task) })) }
      : {}),
    ...queued,
    ...defined({ through, by, priority: priority === 0 ? undefined : priority }),
  }
  const blobs = await fileBlobs(store, [inputs, given ?? {}], files, origin?.parent?.run ?? parentRunId(run))
  const state = emptyState(run)
  let hash = ''
  const encoded = [created, ...entries].map((fresh) => {
    const item = encodeEntry(fresh, { seq: state.seq + 1, at: world.now().toISOString(), token, prev: hash })
    applyEntry(state, item.entry)
    hash = item.hash
    return item
  })
  const batch = toBatch(state, encoded)
  return { state, hash, encoded, batch: { ...batch, blobs: [...(batch.blobs ?? []), ...blobs] } }
}

function encodedEntries(encoded: readonly EncodedEntry[]): Entry[] {
  return encoded.map((item) => item.entry)
}

/** What a resume finds: a run to go on with, or one that rests and needs nothing more. */
export type ResumeOutcome =
  | { readonly is: 'held'; readonly hold: Hold }
  | { readonly is: 'rest'; readonly state: RunState }

export interface ResumeRunRequest {
  /** Sees the state before anything is written, with the tasks that the crew has now, and may refuse. */
  check(state: RunState, changes?: TaskListChanges): void | Promise<void>
  /** Replaces the one that the run had. */
  readonly budget?: Limit | undefined
  /** The task after which it stops, as a person wants it now. */
  readonly through?: string | undefined
  readonly changed?: ChangedPolicy | undefined
  readonly decisions?: TaskDecisions | undefined
  /** Nobody asked for this run: it is taken up only if it wants somebody to, and as those before it were told to. */
  readonly claim?: WorkerClaim | undefined
}

export interface WorkerClaim {
  /** One that was claimed. */
  readonly lease?: TimedLease | undefined
  /** As it was read just now. */
  readonly row: RunRow
  readonly via?: DispatchedBy | undefined
  isDue(state: RunState): boolean
}

/**
 * Takes a run up. For a completed one, one that was suspended because every process that resumed it died, and one that
 * doesn't want it, returns its state instead of a hold. RUN_HELD names who has it; RUN_NOT_FOUND; RUN_CANCELLED;
 * JOURNAL_DAMAGED for one of another format; RUN_MOVED.
 */
export async function resumeRun(
  engine: Engine,
  crew: CrewDefinition,
  run: string,
  given: ResumeRunRequest,
): Promise<ResumeOutcome> {
  const { store, world } = engine
  const row = given.claim?.row ?? (await store.row(run))
  if (!row) throw runNotFoundError(store, run)
  checkFormat(row)
  if (isEnded(row.status)) {
    // looking needs no lease; but a person may have edited the journal of a completed run, which then continues below
    const { state } = await readRun(store, run)
    checkResumable(crew, state)
    if (state.status === 'completed') {
      await given.check(state)
      return { is: 'rest', state }
    }
  }
  const free = await reserveRunInTurn(engine, run)
  let hold: Hold | undefined
  try {
    const acquire = (): Promise<Lease> => store.acquire(run, world.owner, world.leaseMs)
    const unit = openLeasedTree(engine, given.claim?.lease ?? (await requestLease(world, acquire)))
    try {
      // read after the lease was taken: from here on nobody else can append
      hold = withLeaseRelease(openHold(engine, unit, await readRun(store, run), patienceOf(crew, run)), free)
    } catch (error) {
      await unit.release()
      throw error
    }
    return await acquireRun(hold, crew, given)
  } catch (error) {
    await hold?.release().catch(() => undefined)
    free()
    throw error
  }
}

/** Resumes the run of a task that is a crew, under the lease of the one that it works for. */
export async function resumeChild(
  engine: Engine,
  crew: CrewDefinition,
  run: string,
  given: ResumeRunRequest,
  within: LeasedTree,
): Promise<ResumeOutcome> {
  const hold = await within.exclusively(async () => openHold(engine, within, await readRun(engine.store, run)))
  try {
    return await acquireRun(hold, crew, given)
  } catch (error) {
    await hold.release().catch(() => undefined)
    throw error
  }
}

async function acquireRun(hold: Hold, crew: CrewDefinition, given: ResumeRunRequest): Promise<ResumeOutcome> {
  const { state } = hold
  checkResumable(crew, state)
  if (given.claim?.isDue(state) ?? true) {
    if (state.status === 'completed') await given.check(state)
    else if (await recordResume(hold, crew, given)) return { is: 'held', hold }
  }
  await hold.release()
  return { is: 'rest', state }
}

/** Records the resume; false when the run is put aside instead. */
async function recordResume(hold: Hold, crew: CrewDefinition, given: ResumeRunRequest): Promise<boolean> {
  const { state, engine } = hold
  const move = moveOf(state)
  if (move) throw runMoved(state.run, move)
  if (await isFatal(engine.store, state)) {
    await hold.append([{ type: 'run.suspended', reason: 'takeovers' }])
    const facts = `run ${state.run} ${givenUpReason}`
    const next = { act: 'resume', runId: state.run } as const
    warnOf(crew, { facts, next })
    return false
  }
  const { budget, through, claim: unasked } = given
  const { changes, orphaned: found } = await compareTasks(crew, state, given.decisions ?? {}, engine.store)
  const stop = unasked && currentThrough(state, changes)
  const isThere = stop === undefined || crew.tasks.some(({ name }) => name === stop)
  const orphaned = isThere ? found : [...found, { task: stop, holds: ['the run stops after it'] }]
  if (orphaned.length > 0) {
    const isChild = parentRunId(state.run) !== undefined
    const error = tasksChangedError(crew, state.run, orphaned, given.decisions)
    if (!unasked && !isChild) throw error
    await hold.append([{ type: 'run.suspended', reason: 'tasks-changed', orphaned }])
    // the run that a child works for says so, with its own decision
    if (!isChild) warnOf(crew, { facts: error.facts, next: suggestDecision(state.run, orphaned) })
    return false
  }
  if (given.changed === 'refuse') refuseChanges(state, changes)
  await given.check(withTaskChanges(state, changes), changes)
  const tasks = taskDeclarations(crew, state.inputs)
  const same = digest(tasks as never) === digest(recordedDeclarations(state) as never)
  const touched = isHandEdited(state)
    ? {
        edited: {
          missing: [...state.missing],
          changed: [...state.changed],
          tasks: tasksToRedo(state).map((task) => task.name),
        },
      }
    : {}
  await hold.append([
    {
      type: 'run.resumed',
      owner: engine.world.owner,
      ...defined({
        via: unasked?.via,
        version: crew.version === state.version ? undefined : crew.version,
        through: unasked ? currentThrough(state, changes) : through,
        tasks: same ? undefined : tasks,
        changes,
        budget,
      }),
      ...touched,
    },
  ])
  await cancelRemovedTasks(hold)
  return true
}

/** The task after which the run stops, under the name that it has now. */
function currentThrough(
  { through }: RunState,
  { renamed = {}, removed = [] }: TaskListChanges = {},
): string | undefined {
  if (through === undefined || removed.includes(through)) return undefined
  return renamed[through] ?? through
}

/**
 * Whether the run is what ends its processes. It takes two witnesses: the journal, with five lives in a row that were
 * cut off, and the store, with as many deaths (rules/ready.ts). A process that was paused, or left while the store was
 * away, cuts a life off without a death; a claim whose answer is lost may count as a death, but begins no life.
 */
async function isFatal(store: Store, { run, status, fruitless }: RunState): Promise<boolean> {
  if (status !== 'running' || fruitless < deathLimit || parentRunId(run) !== undefined) return false
  return (await store.tries(run)).deaths >= deathLimit
}

/** JOURNAL_DAMAGED for entries that only newer code knows; RUN_NOT_FOUND when the run is another crew's. */
export function checkReadable({ run, crew: owner, unknown }: RunState, crew: string | undefined): void {
  if (unknown !== undefined) {
    const words = `run ${run} has ${unknown}, which this version of Reprise does not know; update it, or fix the journal`
    throw new RepriseError('JOURNAL_DAMAGED', words, { runId: run })
  }
  if (crew !== undefined && owner !== crew) throw otherCrewError(run, owner, crew)
}

export function checkResumable(crew: CrewDefinition, state: RunState): void {
  checkReadable(state, crew.name)
  if (state.status === 'cancelled') throw runCancelledError(state.run)
}

/** In a life, for as long as it takes. */
function patienceOf({ logger }: CrewDefinition, run: string): Pick<Patience, 'onOutage'> {
  return { onOutage: (message) => logger.warn(`run ${run}: ${message}`) }
}

/** The hold of a run at the top, which gives back the lease and the place in this process. */
function withLeaseRelease(hold: Hold, free: () => void): Hold {
  return {
    ...hold,
    async release() {
      try {
        await hold.release()
        return await hold.tree.release()
      } finally {
        free()
      }
    },
  }
}

function taskDeclarations(crew: CrewDefinition, inputs: Inputs): DeclaredTask[] {
  // a function and a crew have no agent
  return crew.tasks.map((task) => taskDeclaration({ ...task, agent: task.agent.title(inputs) || undefined }))
}

function recordedDeclarations(state: RunState): DeclaredTask[] {
  return [...state.tasks.values()].filter((task) => !task.removed).map(taskDeclaration)
}

function taskDeclaration({ name, id, description, expectedOutput, agent }: Declarable): DeclaredTask {
  const expected = expectedOutput === undefined ? {} : { expectedOutput }
  return { name, id, description, ...expected, ...(agent === undefined ? {} : { agent }) }
}

type Declarable = { readonly [K in keyof DeclaredTask]: DeclaredTask[K] | undefined } & Pick<
  DeclaredTask,
  'name' | 'id' | 'description'
>
