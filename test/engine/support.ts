// Shared by the engine's tests: a crew of one task on a scripted model, and a store that dies like a process.
import { createHash } from 'node:crypto'
import assert from 'node:assert/strict'
import { Agent, Crew, RepriseError, Task, type Tool } from 'reprise'
import { openLeasedTree, requestLease } from '../../src/engine/lease/leased-tree.ts'
import { openHold } from '../../src/engine/lease/hold.ts'
import { readRun } from '../../src/read/read-run.ts'
import { openEngine, realWorld } from '../../src/engine/world.ts'
import type { Entry } from '../../src/journal/entries.ts'
import type { RunState } from '../../src/journal/state/state.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { currentOwner } from '../../src/stores/owner.ts'
import type { Batch, Store } from '../../src/stores/store.ts'
import { scriptedModel, type ScriptEntry } from '../../src/testing/scripted-model.ts'

let stores = 0
/** With a URL of its own, so that a store wrapped around it is known to be the same place. */
export const newStore = (): Store => memoryStore({ url: `memory:test-${++stores}` })

/** Stands for a process that dies: after the first batch that `dies` picks, nothing is written any more. */
export function dyingStore(inner: Store, dies: (types: readonly string[]) => boolean): Store {
  return dyingWith(inner, (batch) => (dies(typesOf(batch)) ? batch : undefined))
}

/**
 * The same, but right after the first entry of that type: entries that share an append may also be appended apart,
 * depending on timing.
 */
export function dyingRightAfter(inner: Store, type: string): Store {
  return dyingWith(inner, (batch) => {
    const last = typesOf(batch).indexOf(type)
    return last < 0 ? undefined : last === batch.lines.length - 1 ? batch : upTo(batch, last)
  })
}

/** The store as used by a process of this machine that has died: its leases belong to that process. */
export function ofGoneProcess(inner: Store): Store {
  const owner = { ...currentOwner(), start: 'ended', instance: crypto.randomUUID() }
  return {
    ...inner,
    create: (row, batch, lease) => inner.create(row, batch, lease && { ...lease, owner }),
    acquire: (run, _, ttlMs) => inner.acquire(run, owner, ttlMs),
  }
}

/** Puts a run aside, as a process does that finds that the run has ended five processes. */
export async function giveUp(store: Store, run: string): Promise<void> {
  const engine = openEngine(store, realWorld())
  const { owner, leaseMs } = engine.world
  const unit = openLeasedTree(engine, await requestLease(engine.world, () => store.acquire(run, owner, leaseMs)))
  const hold = openHold(engine, unit, await readRun(store, run))
  await hold.append([
    { type: 'run.resumed', owner },
    { type: 'run.suspended', reason: 'takeovers' },
  ])
  await hold.release()
  await unit.release()
}

function dyingWith(inner: Store, lastOf: (batch: Batch) => Batch | undefined): Store {
  let dead = false
  return {
    ...inner,
    async append(lease, after, batch) {
      if (dead) throw new Error('the process is dead')
      const last = lastOf(batch)
      if (!last) return inner.append(lease, after, batch)
      dead = true
      await inner.append(lease, after, last)
      throw new Error('the process is dead')
    },
    release: async () => 0,
  }
}

/** The beginning of a batch, as if it had been appended alone. Has the row of the whole batch. */
function upTo({ run, lines, blobs = [], taken = [] }: Batch, last: number): Batch {
  return { ...(run === undefined ? {} : { run }), lines: lines.slice(0, last + 1), blobs, taken }
}

type Dying = (inner: Store, counts?: (types: readonly string[]) => boolean) => Store

/**
 * Lives once for every append there is: each time, a process on the store that `live` is given the means to make dies
 * after that one.
 */
export async function atEveryAppend(live: (dying: Dying) => Promise<void>): Promise<void> {
  for (let at = 1; ; at++) {
    let appends = 0
    let died = false
    await live((inner, counts = () => true) =>
      dyingStore(inner, (types) => {
        const now = counts(types) && ++appends === at
        died ||= now
        return now
      }),
    )
    if (!died) return
  }
}

/** Awaits work that a death may interrupt. Any other error is rethrown. */
export async function orDeath(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => assert.match(String(error), /the process is dead/))
}

function typesOf(batch: Batch): string[] {
  return batch.lines.map((line) => (JSON.parse(Buffer.from(line.bytes).toString()) as Entry).type)
}

export interface Scene {
  readonly tools?: readonly Tool[]
  readonly script: readonly ScriptEntry[]
  readonly store?: Store
}

/** A crew of one task, `job`, with these tools and this script. */
export function oneTask({ tools = [], script, store = newStore() }: Scene): {
  crew: Crew
  model: ReturnType<typeof scriptedModel>
  store: Store
} {
  const model = scriptedModel(script)
  const agent = new Agent({ role: 'Worker', goal: 'Do the job', model, tools })
  const job = new Task({ name: 'job', description: 'Do it', agent })
  return { crew: new Crew({ name: 'engine', tasks: [job], store }), model, store }
}

/**
 * Three tasks whose answers depend on everything in their prompts. The first two answers are longer than a line may be.
 */
export function longTexts(store: Store): Crew {
  const said = (conversation: string): string => createHash('sha256').update(conversation).digest('hex')
  const model = scriptedModel([
    { when: 'Task: Last', reply: said },
    { when: 'Task:', reply: (conversation) => `${said(conversation)} ${'long '.repeat(20_000)}` },
  ])
  const agent = new Agent({ role: 'Writer', goal: 'Write', model })
  const tasks = ['first', 'middle', 'last'].map(
    (name) => new Task({ name, description: name[0]?.toUpperCase() + name.slice(1), agent }),
  )
  return new Crew({ name: 'long', tasks, store })
}

export async function stateOf(store: Store, run: string): Promise<RunState> {
  return (await readRun(store, run)).state
}

export async function entriesOf(store: Store, run: string): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const line of store.read(run)) entries.push(JSON.parse(Buffer.from(line.bytes).toString()) as Entry)
  return entries
}

/** The error that the work is refused with. */
export async function refusal(work: () => unknown): Promise<RepriseError> {
  try {
    await work()
  } catch (error) {
    if (RepriseError.isInstance(error)) return error
    throw error
  }
  return assert.fail('nothing was refused')
}
