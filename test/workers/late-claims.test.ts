// A claim whose reply comes when the lease is over, as from a slow store or to a process that was paused: the process
// renews the lease, or learns that another machine has the run, before a `once` call begins.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { memoryStore, currentOwner, type Lease, type Store } from 'reprise/stores'
import { startWorker, type DispatcherWork, type Dispatcher } from 'reprise/workers'
import { crewLanes } from '../../src/read/lanes.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { elsewhere, ttlMs } from '../../src/testing/store-contract/harness.ts'
import { payment, payOnce } from '../engine/payments.ts'
import { workOnce } from './worker-crews.ts'

type Advance = (crew: Crew, store: Store) => Promise<unknown>

const ways: { readonly [way: string]: Advance } = {
  'a worker': (crew) => workOnce([crew]),
  'a worker that a dispatcher calls': async (crew) => {
    const served = Promise.withResolvers<DispatcherWork>()
    const dispatcher: Dispatcher = {
      name: 'queue',
      wake: async () => {},
      async serve(work) {
        served.resolve(work)
        await new Promise<void>((resolve) => work.signal.addEventListener('abort', () => resolve()))
      },
    }
    await using _ = await startWorker([crew], { dispatcher, pollSeconds: 3_600 })
    await (await served.promise).advance('r')
  },
  resumeAll: (crew) => crew.resumeAll(),
  'advance with a lease that the caller claimed': async (crew, store) => {
    const lanes = crewLanes(crew['~definition']({}))
    const [lease] = await store.claim(currentOwner(), ttlMs, lanes, { limit: 1 })
    if (lease) await crew.advance('r', { lease })
  },
}

for (const [way, advance] of Object.entries(ways)) {
  test(`${way}: a lease that had expired when the claim was answered is renewed before a once call`, async (context) => {
    const { crew, store, events } = await scene(context)
    await advance(crew, store)
    assert.deepEqual(events.slice(0, 3), ['claimed', 'renewed', 'paid under a lease'])
    assert.equal((await crew.run('r').view()).status, 'completed')
  })

  test(`${way}: no once call starts when another machine took the run before the claim was answered`, async (context) => {
    const { crew, store, events } = await scene(context, (inner) => inner.acquire('r', elsewhere('box'), ttlMs))
    await advance(crew, store)
    assert.deepEqual(events, ['claimed'])
    assert.equal((await store.holder('r'))?.host, 'box.example')
  })
}

/** A queued run in a store that answers the first claim a second after the lease has expired. */
async function scene(context: TestContext, meanwhile?: (inner: Store) => Promise<Lease>) {
  let passed = 0
  const clock = performance.now.bind(performance)
  context.mock.method(performance, 'now', () => clock() + passed)
  const inner = memoryStore({ now: () => Date.now() + passed })
  const events: string[] = []
  const store: Store = {
    ...inner,
    async claim(...args) {
      const leases = await inner.claim(...args)
      if (leases.length > 0 && passed === 0) {
        passed += ttlMs + 1_000
        await meanwhile?.(inner)
        events.push('claimed')
      }
      return leases
    },
    renew(...args) {
      events.push('renewed')
      return inner.renew(...args)
    },
  }
  const pay = payment({
    async run() {
      events.push((await inner.holder('r')) ? 'paid under a lease' : 'paid under no lease')
      return {}
    },
  })
  const clerk = new Agent({ role: 'Clerk', goal: 'g', model: scriptedModel(payOnce), tools: [pay] })
  const task = new Task({ name: 'pay', description: 'Do it', agent: clerk })
  const crew = new Crew({ name: 'late', tasks: [task], store, logger: { info() {}, warn() {} } })
  await crew.enqueue({ id: 'r' })
  return { crew, store, events }
}
