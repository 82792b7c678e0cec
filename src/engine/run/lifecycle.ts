// How a run comes into a process: created or resumed. Both give a hold, or the state of a run
// that needs nothing more.
import { RepriseError } from '../../errors.ts'
import { encodeEntry } from '../../journal/codec.ts'
import type { DeclaredTask, EntryBodies, Limit, NewEntry } from '../../journal/entries.ts'
import { edited, undone } from '../../journal/state/hand-edits.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import { noFiles, type Files } from '../../journal/files.ts'
import { digest } from '../../journal/hash.ts'
import { callerOf } from '../../journal/paths.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import type { CrewDefinition, Engine, Inputs } from '../definition.ts'
import { fileBlobs } from '../read/run-files.ts'
import { reserve, reserveInTurn } from '../lease/held-here.ts'
import { openHold, toBatch, type Hold } from '../lease/hold.ts'
import { runCancelled } from '../people/inbox.ts'
import { momentOf } from '../lease/lease-keeper.ts'
import { readRun } from '../read/read-run.ts'
import { ofOtherCrew, runNotFound } from '../read/run-not-found.ts'
import { rowOf } from '../read/row.ts'

/** After so many resumes without a new step, a run is left alone: it may be what kills its processes. */
const fruitlessLimit = 5

export interface NewRun {
  readonly run: string
  readonly inputs: Inputs
  /** As the caller gave them, where `beforeKickoff` changed them. */
  readonly given?: Inputs | undefined
  /** The bytes of files that were just read; those of others come from the run that this one is made from. */
  readonly files?: Files | undefined
  readonly by?: string | undefined
  /** What else `run.created` says about a run that is made from another, or reuses outputs of others. */
  readonly origin?: Origin
  /** Entries that follow it in the same append. */
  readonly entries?: readonly NewEntry[]
}

export type Origin = Pick<
  EntryBodies['run.created'],
  'parent' | 'plan' | 'calls' | 'lost' | 'effects' | 'reuse' | 'caller'
>

/** Undefined when a run with that id exists already: then nothing was written. */
export async function createRun(
  engine: Engine,
  crew: CrewDefinition,
  { run, inputs, given, files = noFiles, by, origin, entries = [] }: NewRun,
): Promise<Hold | undefined> {
  const { store, world } = engine
  const { owner, leaseMs } = world
  const created: NewEntry = {
    type: 'run.created',
    run,
    crew: crew.name,
    version: crew.version,
    inputs,
    ...(given === undefined ? {} : { given }),
    tasks: declared(crew, inputs),
    owner,
    ...origin,
    ...(by === undefined ? {} : { by }),
  }
  const blobs = await fileBlobs(store, [inputs, given ?? {}], files, origin?.parent?.run ?? callerOf(run))
  const state = emptyState(run)
  let hash = ''
  const encoded = [created, ...entries].map((fresh) => {
    const item = encodeEntry(fresh, { seq: state.seq + 1, at: world.now().toISOString(), token: 1, prev: hash })
    applyEntry(state, item.entry)
    hash = item.hash
    return item
  })
  const free = reserve(engine, run)
  try {
    const since = momentOf(world)
    const batch = toBatch(state, encoded)
    const whole = { ...batch, blobs: [...(batch.blobs ?? []), ...blobs] }
    const { lease } = await store.create(rowOf(state), whole, { owner, ttlMs: leaseMs })
    if (lease) {
      engine.appended?.(
        run,
        encoded.map((item) => item.entry),
      )
      return heldUntilReleased(openHold(engine, lease, { state, hash }, since), free)
    }
  } catch (error) {
    free()
    throw error
  }
  free()
  return undefined
}

/** What a resume finds: a run to go on with, or one that rests and needs nothing more. */
export type Taken = { readonly is: 'held'; readonly hold: Hold } | { readonly is: 'rest'; readonly state: RunState }

/**
 * Resumes a run. For a completed one, and one that was suspended because every process that resumed it died, returns
 * its state instead of a hold. `check` sees the state before anything is written and may refuse. RUN_HELD names who has
 * it; RUN_NOT_FOUND; RUN_CANCELLED.
 */
export async function resumeRun(
  engine: Engine,
  crew: CrewDefinition,
  run: string,
  check: (state: RunState) => void | Promise<void>,
  budget?: Limit,
): Promise<Taken> {
  const { store, world } = engine
  const row = await store.row(run)
  if (!row) throw runNotFound(store, run)
  if (isEnded(row.status)) {
    // looking needs no lease; but a person may have edited the journal of a completed run, which then continues below
    const { state } = await readRun(store, run)
    checkResumable(crew, state)
    if (state.status === 'completed') {
      await check(state)
      return { is: 'rest', state }
    }
  }
  const free = await reserveInTurn(engine, run)
  let hold: Hold | undefined
  try {
    const since = momentOf(world)
    const lease = await store.acquire(run, world.owner, world.leaseMs)
    try {
      // read after the lease was taken: from here on nobody else can append
      hold = heldUntilReleased(openHold(engine, lease, await readRun(store, run), since), free)
    } catch (error) {
      await store.release(lease).catch(() => undefined)
      throw error
    }
    const { state } = hold
    checkResumable(crew, state)
    await check(state)
    if (state.status !== 'completed' && (await enter(hold, crew, budget))) return { is: 'held', hold }
    await hold.release()
    return { is: 'rest', state }
  } catch (error) {
    await hold?.release().catch(() => undefined)
    free()
    throw error
  }
}

/** Records the resume; false when the run is put aside instead. */
async function enter(hold: Hold, crew: CrewDefinition, budget: Limit | undefined): Promise<boolean> {
  const { state, engine } = hold
  if (state.status === 'running' && state.fruitless >= fruitlessLimit) {
    await hold.append([{ type: 'run.suspended', reason: 'takeovers' }])
    return false
  }
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
      ...(same ? {} : { tasks }),
      ...touched,
      ...(budget ? { budget } : {}),
    },
  ])
  return true
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

function heldUntilReleased(hold: Hold, free: () => void): Hold {
  return {
    ...hold,
    async release() {
      try {
        await hold.release()
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
