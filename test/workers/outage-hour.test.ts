// Invariants 12 and 13 over an hour of virtual time in which a part of the store is away. The workers are real; only
// their clocks are fake.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Crew, Task } from 'reprise'
import { faultyStore, type Faults } from 'reprise/testing'
import { memoryStore, type Store } from 'reprise/stores'
import { advance } from '../../src/crew/verbs/advance.ts'
import { openCrew, type OpenCrew } from '../../src/crew/open-crew.ts'
import { leaseKeeper, requestLeases } from '../../src/engine/lease/leased-tree.ts'
import { crewLanes } from '../../src/read/lanes.ts'
import { realWorld } from '../../src/engine/world.ts'
import type { World } from '../../src/engine/definition.ts'
import { shortWaitMs, patientStore } from '../../src/stores/patient-store.ts'
import { recordCrew } from '../../src/crew/queue/added-schedules.ts'
import { readWorkerOptions } from '../../src/workers/worker-options.ts'
import type { ServedStore } from '../../src/workers/served.ts'
import { workOn, type Worker } from '../../src/workers/worker.ts'
import { elsewhere } from '../../src/testing/store-contract/harness.ts'
import { stateOf } from '../engine/support.ts'
import { virtualTime, type VirtualTime } from '../support/virtual-time.ts'
import type { StoreCall } from '../../src/testing/faulty-store.ts'

const minute = 60_000
const hour = 60 * minute
/** Runs that are in progress when the outage begins. */
const early = Array.from({ length: 6 }, (_, index) => `early-${index}`)
/** Runs that become due in the outage: their claims, first reads and first writes fail again and again. */
const late = Array.from({ length: 6 }, (_, index) => `late-${index}`)
const runs = [...early, ...late]
/** Enough for the longest pause between two claims and for all ten steps. */
const afterwards = 17 * minute + 20 * minute

/** Which calls of the store fail in the hour. `random` returns the same numbers each time. */
const outages: { readonly [title: string]: (call: StoreCall, random: () => number) => ReturnType<Faults> } = {
  'a lock keeps every write to journals waiting, while claims and renewals are answered': ({ name }) =>
    name === 'append' || name === 'read' ? 'unavailable' : undefined,
  'claims are made, and their answers lost': ({ name }) => (name === 'claim' ? 'reply lost' : undefined),
  'nothing can be renewed or released': ({ name }) =>
    name === 'renew' || name === 'release' ? 'unavailable' : undefined,
  'every second call fails, before or after it was made': (_, random) =>
    random() < 0.5 ? undefined : random() < 0.5 ? 'unavailable' : 'reply lost',
  'everything is away': () => 'unavailable',
}

describe('an hour in which', () => {
  for (const [what, faultOf] of Object.entries(outages)) {
    test(`${what}: every run completes soon after, and no run fails or is given up`, async () => {
      const time = virtualTime()
      const random = numbers(7)
      const begin = time.now() + 2 * minute
      const isAway = (): boolean => time.now() >= begin && time.now() < begin + hour
      const inner = memoryStore({ now: time.now })
      const store = faultyStore(inner, (call) => (isAway() ? faultOf(call, random) : undefined))
      const crew = crewOn(inner, time)
      for (const id of early) await crew.enqueue({ id })
      for (const id of late) await crew.enqueue({ id, delay: 5 * 60 })
      const workers = [await worker(crew, store, time, 'a'), await worker(crew, store, time, 'b')]
      const completed = whenCompleted(inner, time)
      await time.passUntil(completed, 2 * minute + hour + afterwards)
      await completed
      const stopped = Promise.all(workers.map((one) => one.stop()))
      await time.passUntil(stopped, minute)
      for (const id of runs) {
        const entries = await stateOf(inner, id)
        assert.equal(entries.status, 'completed', id)
        assert.deepEqual(await inner.tries(id), { tries: 0, deaths: 0 })
      }
    })
  }
})

/** A crew of ten steps of a minute each: the outage begins in the middle of a run. */
function crewOn(store: Store, time: VirtualTime): Crew {
  const tasks = Array.from(
    { length: 10 },
    (_, index) =>
      new Task({
        name: `t${index}`,
        effect: 'read',
        async run({ signal }) {
          await time.sleep(minute, signal)
          return index
        },
      }),
  )
  return new Crew({ name: 'hourly', tasks, store, logger: { info: () => {}, warn: () => {} } })
}

/** A worker that is on its own machine, according to its leases. */
function worker(crew: Crew, inner: Store, time: VirtualTime, host: string): Promise<Worker> {
  const store = { ...inner, url: `memory:${host}` }
  const world: World = {
    ...realWorld(),
    now: () => new Date(time.now()),
    monotonic: time.monotonic,
    sleep: time.sleep,
    timer: time.timer,
    owner: elsewhere(host),
    leaseMs: 30_000,
  }
  const definition = crew['~definition']({})
  const engine = {
    store: patientStore(store, { limitMs: shortWaitMs, clock: world }),
    world,
    leases: leaseKeeper(store, world),
  }
  const open: OpenCrew = { ...openCrew(definition, { store, name: crew.name }), engine: async () => engine }
  const served: ServedStore = {
    store,
    engine,
    claim: (lanes, room) => requestLeases(world, () => store.claim(world.owner, world.leaseMs, lanes, room)),
    crews: [
      {
        name: crew.name,
        recorded: (inputs) => recordCrew(open, inputs),
        lanes: crewLanes(definition),
        maxRuns: undefined,
        schedules: [],
        advance: (lease, { until, signal }) => advance(open, lease.run, { lease, until, signal }),
        cancel: async () => {},
        enqueueNext: async () => undefined,
      },
    ],
  }
  return workOn([served], readWorkerOptions([crew], { concurrency: 4 }), world)
}

async function whenCompleted(store: Store, time: VirtualTime): Promise<void> {
  const never = new AbortController().signal
  for (;;) {
    const rows = await Promise.all(runs.map((run) => store.row(run)))
    if (rows.every((row) => row?.status === 'completed')) return
    await time.sleep(10_000, never)
  }
}

/** Returns numbers from 0 to 1, the same each time. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}
