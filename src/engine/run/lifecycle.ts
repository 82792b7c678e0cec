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
  Via,
} from '../../journal/entries.ts'
import { edited, undone } from '../../journal/state/hand-edits.ts'
import { decisionFor } from '../../journal/state/change-words.ts'
import { withChanges } from '../../journal/state/change-tasks.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import { noFiles, type Files } from '../../journal/files.ts'
import { digest } from '../../journal/hash.ts'
import { callerOf } from '../../journal/paths.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import type { Patience } from '../../stores/patient/patience.ts'
import type { ChangedPolicy, CrewDefinition, Engine, Inputs, TaskDecisions } from '../definition.ts'
import { fileBlobs } from '../read/run-files.ts'
import { checkFormat } from '../read/check-format.ts'
import { reserve, reserveInTurn } from '../lease/held-here.ts'
import { openHold, toBatch, type Hold } from '../lease/hold.ts'
import { runCancelled } from '../people/inbox.ts'
import { cancelRemoved } from '../people/cancel-within.ts'
import { requestLease, type TimedLease } from '../lease/lease-keeper.ts'
import { momentOf } from '../moment.ts'
import { openUnit, type Unit } from '../lease/held-unit.ts'
import { givenUpWords } from '../read/due.ts'
import { moveOf, runMoved } from '../read/moved.ts'
import { readRun } from '../read/read-run.ts'
import { warnOf } from '../warn-of.ts'
import { ofOtherCrew, runNotFound } from '../read/run-not-found.ts'
import { rowOf } from '../read/row.ts'
import { compareTasks, placeNow, refuseChanges, tasksChanged } from './compare-tasks.ts'
import { mostDeaths } from '../../stores/rules/ready.ts'
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
  readonly origin?: Origin
  /** Entries that follow it in the same append. */
  readonly entries?: readonly NewEntry[]
}

export type Origin = Pick<
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
  within?: Unit,
): Promise<Hold | undefined> {
  const { store, world } = engine
  const { owner, leaseMs } = world
  const made = momentOf(world)
  const { state, hash, encoded, batch } = await firstBatch(engine, crew, fresh, within?.lease.token ?? 1)
  const free = within ? () => {} : reserve(engine, fresh.run)
  try {
    const asked = within?.lease ?? { owner, ttlMs: leaseMs }
    const lease = await requestLease(world, async () => (await store.create(rowOf(state), batch, asked)).lease)
    if (lease) {
      engine.appended?.(fresh.run, entriesOf(encoded))
      const unit = within ?? openUnit(engine, lease)
      const hold = openHold(engine, unit, { state, hash }, { ...patienceOf(crew, fresh.run), made })
      return within ? hold : withLease(hold, free)
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
  const { created } = await engine.store.create(rowOf(state), batch)
  if (created) engine.appended?.(fresh.run, entriesOf(encoded))
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
    tasks: declared(crew, inputs),
    owner: world.owner,
    ...origin,
    ...(origin?.calls ? { calls: origin.calls.map((call) => ({ ...call, task: placeNow(crew, call.task) })) } : {}),
    ...queued,
    ...defined({ through, by, priority: priority === 0 ? undefined : priority }),
  }
  const blobs = await fileBlobs(store, [inputs, given ?? {}], files, origin?.parent?.run ?? callerOf(run))
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

function entriesOf(encoded: readonly EncodedEntry[]): Entry[] {
  return encoded.map((item) => item.entry)
}

/** What a resume finds: a run to go on with, or one that rests and needs nothing more. */
export type Taken = { readonly is: 'held'; readonly hold: Hold } | { readonly is: 'rest'; readonly state: RunState }

export interface TakeUp {
  /** Sees the state before anything is written, with the tasks that the crew has now, and may refuse. */
  check(state: RunState, changes?: TaskListChanges): void | Promise<void>
  /** Replaces the one that the run had. */
  readonly budget?: Limit | undefined
  /** The task after which it stops, as a person wants it now. */
  readonly through?: string | undefined
  readonly changed?: ChangedPolicy | undefined
  readonly decisions?: TaskDecisions | undefined
  /** Nobody asked for this run: it is taken up only if it wants somebody to, and as those before it were told to. */
  readonly unasked?: Unasked | undefined
}

export interface Unasked {
  /** One that was claimed. */
  readonly lease?: TimedLease | undefined
  /** As it was read just now. */
  readonly row: RunRow
  readonly via?: Via | undefined
  wants(state: RunState): boolean
}

/**
 * Takes a run up. For a completed one, one that was suspended because every process that resumed it died, and one that
 * doesn't want it, returns its state instead of a hold. RUN_HELD names who has it; RUN_NOT_FOUND; RUN_CANCELLED;
 * JOURNAL_DAMAGED for one of another format; RUN_MOVED.
 */
export async function resumeRun(engine: Engine, crew: CrewDefinition, run: string, given: TakeUp): Promise<Taken> {
  const { store, world } = engine
  const row = given.unasked?.row ?? (await store.row(run))
  if (!row) throw runNotFound(store, run)
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
  const free = await reserveInTurn(engine, run)
  let hold: Hold | undefined
  try {
    const acquire = (): Promise<Lease> => store.acquire(run, world.owner, world.leaseMs)
    const unit = openUnit(engine, given.unasked?.lease ?? (await requestLease(world, acquire)))
    try {
      // read after the lease was taken: from here on nobody else can append
      hold = withLease(openHold(engine, unit, await readRun(store, run), patienceOf(crew, run)), free)
    } catch (error) {
      await unit.release()
      throw error
    }
    return await takeUp(hold, crew, given)
  } catch (error) {
    await hold?.release().catch(() => undefined)
    free()
    throw error
  }
}

/** Resumes the run of a task that is a crew, under the lease of the one that it works for. */
export async function resumeWithin(
  engine: Engine,
  crew: CrewDefinition,
  run: string,
  given: TakeUp,
  within: Unit,
): Promise<Taken> {
  const hold = await within.below(async () => openHold(engine, within, await readRun(engine.store, run)))
  try {
    return await takeUp(hold, crew, given)
  } catch (error) {
    await hold.release().catch(() => undefined)
    throw error
  }
}

async function takeUp(hold: Hold, crew: CrewDefinition, given: TakeUp): Promise<Taken> {
  const { state } = hold
  checkResumable(crew, state)
  if (given.unasked?.wants(state) ?? true) {
    if (state.status === 'completed') await given.check(state)
    else if (await enter(hold, crew, given)) return { is: 'held', hold }
  }
  await hold.release()
  return { is: 'rest', state }
}

/** Records the resume; false when the run is put aside instead. */
async function enter(hold: Hold, crew: CrewDefinition, given: TakeUp): Promise<boolean> {
  const { state, engine } = hold
  const move = moveOf(state)
  if (move) throw runMoved(state.run, move)
  if (await isFatal(engine.store, state)) {
    await hold.append([{ type: 'run.suspended', reason: 'takeovers' }])
    const facts = `run ${state.run} ${givenUpWords}`
    const next = { act: 'resume', runId: state.run } as const
    warnOf(crew, { facts, next })
    return false
  }
  const { budget, through, unasked } = given
  const { changes, orphaned: found } = await compareTasks(crew, state, given.decisions ?? {}, engine.store)
  const stop = unasked && throughNow(state, changes)
  const isThere = stop === undefined || crew.tasks.some(({ name }) => name === stop)
  const orphaned = isThere ? found : [...found, { task: stop, holds: ['the run stops after it'] }]
  if (orphaned.length > 0) {
    const isChild = callerOf(state.run) !== undefined
    const error = tasksChanged(crew, state.run, orphaned)
    if (!unasked && !isChild) throw error
    await hold.append([{ type: 'run.suspended', reason: 'tasks-changed', orphaned }])
    // the run that a child works for says so, with its own decision
    if (!isChild) warnOf(crew, { facts: error.facts, next: decisionFor(state.run, orphaned) })
    return false
  }
  if (given.changed === 'refuse') refuseChanges(state, changes)
  await given.check(withChanges(state, changes), changes)
  const tasks = declared(crew, state.inputs)
  const same = digest(tasks as never) === digest(declaredIn(state) as never)
  const touched = edited(state)
    ? {
        edited: {
          missing: [...state.missing],
          changed: [...state.changed],
          tasks: undone(state).map((task) => task.name),
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
        through: unasked ? throughNow(state, changes) : through,
        tasks: same ? undefined : tasks,
        changes,
        budget,
      }),
      ...touched,
    },
  ])
  await cancelRemoved(hold)
  return true
}

/** The task after which the run stops, under the name that it has now. */
function throughNow({ through }: RunState, { renamed = {}, removed = [] }: TaskListChanges = {}): string | undefined {
  if (through === undefined || removed.includes(through)) return undefined
  return renamed[through] ?? through
}

/**
 * Whether the run is what ends its processes. It takes two witnesses: the journal, with five lives in a row that were
 * cut off, and the store, with as many deaths (rules/ready.ts). A process that was paused, or left while the store was
 * away, cuts a life off without a death; a claim whose answer is lost may count as a death, but begins no life.
 */
async function isFatal(store: Store, { run, status, fruitless }: RunState): Promise<boolean> {
  if (status !== 'running' || fruitless < mostDeaths || callerOf(run) !== undefined) return false
  return (await store.tries(run)).deaths >= mostDeaths
}

/** JOURNAL_DAMAGED for entries that only newer code knows; RUN_NOT_FOUND when the run is another crew's. */
export function checkReadable({ run, crew: owner, unknown }: RunState, crew: string | undefined): void {
  if (unknown !== undefined) {
    const words = `run ${run} has ${unknown}, which this version of Reprise does not know; update it, or fix the journal`
    throw new RepriseError('JOURNAL_DAMAGED', words, { runId: run })
  }
  if (crew !== undefined && owner !== crew) throw ofOtherCrew(run, owner, crew)
}

export function checkResumable(crew: CrewDefinition, state: RunState): void {
  checkReadable(state, crew.name)
  if (state.status === 'cancelled') throw runCancelled(state.run)
}

/** In a life, for as long as it takes. */
function patienceOf({ logger }: CrewDefinition, run: string): Pick<Patience, 'tell'> {
  return { tell: (message) => logger.warn(`run ${run}: ${message}`) }
}

/** The hold of a run at the top, which gives back the lease and the place in this process. */
function withLease(hold: Hold, free: () => void): Hold {
  return {
    ...hold,
    async release() {
      try {
        await hold.release()
        return await hold.unit.release()
      } finally {
        free()
      }
    },
  }
}

function declared(crew: CrewDefinition, inputs: Inputs): DeclaredTask[] {
  // a function and a crew have no agent
  return crew.tasks.map((task) => declaredTask({ ...task, agent: task.agent.title(inputs) || undefined }))
}

function declaredIn(state: RunState): DeclaredTask[] {
  return [...state.tasks.values()].filter((task) => !task.removed).map(declaredTask)
}

function declaredTask({ name, id, description, expectedOutput, agent }: Declarable): DeclaredTask {
  const expected = expectedOutput === undefined ? {} : { expectedOutput }
  return { name, id, description, ...expected, ...(agent === undefined ? {} : { agent }) }
}

type Declarable = { readonly [K in keyof DeclaredTask]: DeclaredTask[K] | undefined } & Pick<
  DeclaredTask,
  'name' | 'id' | 'description'
>
