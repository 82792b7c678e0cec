// Creates runs: under a lease, to be executed by this process, or queued for a worker.
import { defined } from '../../base/options.ts'
import { encodeEntry, type EncodedEntry } from '../../journal/codec.ts'
import type { DeclaredTask, Entry, EntryBodies, NewEntry, Priority } from '../../journal/entries.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import { noFiles, type Files } from '../../journal/files.ts'
import { parentRunId } from '../../journal/paths.ts'
import type { Patience } from '../../stores/patient-store.ts'
import type { CrewDefinition, Engine, FlowDefinition, Inputs } from '../definition.ts'
import { fileBlobs } from '../../read/read-run.ts'
import { reserveRun, openLeasedTree, type LeasedTree, requestLease } from '../lease/leased-tree.ts'
import { openHold, toBatch, type Hold } from '../lease/hold.ts'
import { currentMoment } from '../../base/clock.ts'
import { listingRow } from '../../read/row.ts'
import { currentAddress } from './compare-tasks.ts'

export interface NewRun {
  readonly run: string
  /** Default: a new one. Child runs have a derived one. */
  readonly incarnation?: string | undefined
  readonly inputs: Inputs
  /** The caller's inputs, if `beforeKickoff` or the schema changed them. */
  readonly given?: Inputs | undefined
  /** Files that were read for this call, by hash. Other files are copied from the run's origin or parent run. */
  readonly files?: Files | undefined
  readonly by?: string | undefined
  /** The run stops after this task. */
  readonly through?: string | undefined
  readonly priority?: Priority | undefined
  /** Other fields of `run.created`, for forks, child runs and reused outputs. */
  readonly origin?: RunOrigin
  /** Default: the tasks of the crew. */
  readonly declared?: readonly DeclaredTask[] | undefined
  /** Appended together with `run.created`. */
  readonly entries?: readonly NewEntry[]
}

export type RunOrigin = Pick<
  EntryBodies['run.created'],
  'parent' | 'plan' | 'calls' | 'lost' | 'effects' | 'reuse' | 'module' | 'trials' | 'seed' | 'previous'
>

/**
 * Creates a run under a lease. Returns undefined, and writes nothing, if a run with this id exists. Rejects with
 * RUN_HELD if this process executes such a run. `within`: for a child run, the tree under whose lease it is created.
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
    const claim = within?.lease ?? { owner, ttlMs: leaseMs }
    const lease = await requestLease(world, async () => (await store.create(listingRow(state), batch, claim)).lease)
    if (lease) {
      engine.appended?.(fresh.run, encodedEntries(encoded))
      const tree = within ?? openLeasedTree(engine, lease, free)
      return openHold(engine, tree, { state, hash }, { ...patienceOf(crew, fresh.run), made, ownsTree: !within })
    }
  } catch (error) {
    free()
    throw error
  }
  free()
  return undefined
}

export interface QueuedRun extends NewRun {
  /** No worker starts the run before this time. */
  readonly notBefore?: Date | undefined
}

/** What a queued run records of its crew. Its code need not be loaded. */
export interface QueuedCrew extends Pick<CrewDefinition, 'name' | 'version' | 'tasks'> {
  /** Set if the crew is a flow. */
  readonly flow?: Pick<FlowDefinition, 'chat'> | undefined
}

/** Creates a run for a worker. Returns false, and writes nothing, if a run with this id exists. */
export async function queueRun(engine: Engine, crew: QueuedCrew, fresh: QueuedRun): Promise<boolean> {
  const { notBefore } = fresh
  const queued = { queued: true as const, ...defined({ notBefore: notBefore?.toISOString() }) }
  // token 0: the run has never been held
  const { state, encoded, batch } = await firstBatch(engine, crew, fresh, 0, queued)
  const { created } = await engine.store.create(listingRow(state), batch)
  if (created) engine.appended?.(fresh.run, encodedEntries(encoded))
  return created
}

/** Encodes `run.created` and the entries appended with it, and folds them into a state. */
async function firstBatch(
  { store, world }: Engine,
  crew: QueuedCrew,
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
    declared = taskDeclarations(crew, inputs),
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
    tasks: declared,
    ...(crew.flow ? { flow: true as const } : {}),
    ...(crew.flow?.chat ? { chat: true as const } : {}),
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

export function taskDeclarations(crew: Pick<CrewDefinition, 'tasks'>, inputs: Inputs): DeclaredTask[] {
  // function tasks and nested crews have no agent
  return crew.tasks.map((task) => taskDeclaration({ ...task, agent: task.agent.title(inputs) || undefined }))
}

export function taskDeclaration({ name, id, description, expectedOutput, agent }: Declarable): DeclaredTask {
  const expected = expectedOutput === undefined ? {} : { expectedOutput }
  return { name, id, description, ...expected, ...(agent === undefined ? {} : { agent }) }
}

type Declarable = { readonly [K in keyof DeclaredTask]: DeclaredTask[K] | undefined } & Pick<
  DeclaredTask,
  'name' | 'id' | 'description'
>

/** Returns the patience of an executing run: store calls wait out an outage of any length, and it is logged. */
export function patienceOf({ logger }: CrewDefinition, run: string): Pick<Patience, 'onOutage'> {
  return { onOutage: (message) => logger.warn(`run ${run}: ${message}`) }
}
