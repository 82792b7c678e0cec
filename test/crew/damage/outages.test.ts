// A store that is away for a while fails no run. Invariant 13.
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import { Agent, Crew, RepriseError, Task, tool } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import { faultyStore, jumpingClock, scriptedModel, type FaultyStore } from 'reprise/testing'
import { z } from 'zod'
import { realClock } from '../../../src/base/clock.ts'
import { deadline } from '../../../src/engine/limits/time.ts'
import { batch, elsewhere } from '../../../src/testing/store-contract/harness.ts'
import { entriesOf, newStore } from '../../engine/support.ts'
import { environmentOf } from '../../models/support.ts'

interface Scene {
  readonly crew: Crew
  readonly store: FaultyStore
  readonly inner: Store
  /** Calls of the model, and of `pay`. */
  readonly happened: string[]
  readonly told: string[]
}

interface Given {
  readonly inner?: Store
  /** What happens while `pay` is called. */
  readonly pay?: (scene: Scene, signal: AbortSignal) => unknown
  /** The task is a crew. */
  readonly within?: boolean
  /** The task is a function, which pays. */
  readonly byFunction?: boolean
}

/** A crew that pays once, and says so. */
function paying({ inner = newStore(), pay = () => {}, within = false, byFunction = false }: Given = {}): Scene {
  const happened: string[] = []
  const told: string[] = []
  const logger = { info() {}, warn: (message: string) => void told.push(message) }
  const store = faultyStore(inner)
  const makePayment = async (signal: AbortSignal): Promise<string> => {
    happened.push('paid')
    await pay(scene, signal)
    return `payment ${happened.filter((what) => what === 'paid').length}`
  }
  const payment = tool({
    name: 'pay',
    description: 'Pay',
    effect: 'once',
    input: z.object({}),
    run: (_, { signal }) => makePayment(signal),
  })
  const model = scriptedModel([
    { when: 'Task: Settle', calls: [{ tool: 'pay', input: {} }] },
    { when: 'Task: Settle', reply: (text) => /payment \d/.exec(text)?.[0] ?? 'nothing' },
  ])
  const agent = new Agent({ role: 'Clerk', goal: 'Settle', model, tools: [payment] })
  const settle = new Task({ name: 'settle', description: 'Settle', agent })
  const inside = new Crew({ name: 'inside', tasks: [settle], logger })
  const code = new Task({ name: 'settle', run: ({ signal }) => makePayment(signal) })
  const tasks = within ? [new Task({ name: 'crew', crew: inside })] : [byFunction ? code : settle]
  const scene = { crew: new Crew({ name: 'paying', tasks, store, logger }), store, inner, happened, told }
  return scene
}

test('a run waits for a store that goes away, and the logger hears of it twice', async () => {
  const { crew, happened, told } = paying({ pay: ({ store }) => leaveFor(store, 3) })
  assert.equal(String(await crew.kickoff({ id: 'r' })), 'payment 1')
  assert.deepEqual(happened, ['paid'])
  assert.equal(told.length, 2)
  assert.match(told[0] ?? '', /^run r: the store memory:.* does not answer \(.*\): waiting for it$/)
  assert.match(told[1] ?? '', /^run r: the store memory:.* is back after \d+ s$/)
})

test('an outage longer than the lease aborts no active work, and the run continues after it', async () => {
  using _ = environmentOf({ REPRISE_LEASE_SECONDS: '0.2' })
  const clock = jumpingClock()
  const aborted: boolean[] = []
  const { crew, inner, happened } = paying({
    inner: memoryStore({ now: clock.now, url: 'memory:outlasting' }),
    async pay({ store }, signal) {
      // renewed every third: after six tries the time of the lease is over twice
      await away(store, () => count(store, 'renew') >= 6)
      clock.jump(60_000)
      aborted.push(signal.aborted)
    },
  })
  assert.equal(String(await crew.kickoff({ id: 'r' })), 'payment 1')
  assert.deepEqual(aborted, [false])
  assert.deepEqual(happened, ['paid'])
  assert.deepEqual(
    (await entriesOf(inner, 'r')).map(({ type }) => type).filter((type) => type.startsWith('run.')),
    ['run.created', 'run.completed'],
  )
})

for (const within of [false, true]) {
  const whose = within ? 'a crew within, and with it the whole run,' : 'a run'
  test(`${whose} that is stopped while the store is away keeps its journal, and can be resumed`, async (context) => {
    const stopping = new AbortController()
    const { crew, store, inner, happened } = paying({
      within,
      pay() {
        store.away = true
        hurry(context)
        const appends = count(store, 'append')
        void until(() => count(store, 'append') > appends).then(() => stopping.abort())
      },
    })
    await assert.rejects(crew.kickoff({ id: 'r', signal: stopping.signal }), {
      code: 'STORE_UNAVAILABLE',
      runId: 'r',
      next: { type: 'resume', runId: 'r' },
    })
    context.mock.restoreAll()
    const runs = within ? ['r', 'r/crew#1'] : ['r']
    for (const run of runs) {
      assert.equal((await inner.row(run))?.status, 'running')
      assert.ok((await entriesOf(inner, run)).every(({ type }) => !/failed|suspended/.test(type)))
    }
    store.away = false
    // the outcome of the payment was not recorded
    const resumed = await crew.resume('r')
    assert.equal(resumed.questions[0]?.kind, 'doubt')
    await crew.run('r').answer(resumed.questions[0]?.id ?? '', { decision: 'happened', result: 'payment 1' })
    assert.equal(String(await crew.resume('r')), 'payment 1')
    assert.deepEqual(happened, ['paid'])
  })
}

test("an outage of an onQuestion's own service fails no run", async () => {
  const store = newStore()
  const agent = new Agent({
    role: 'Clerk',
    goal: 'Settle',
    model: scriptedModel([{ when: 'Settle', reply: 'settled' }]),
  })
  const tasks = [new Task({ name: 'settle', description: 'Settle', agent, humanInput: true })]
  const crew = new Crew({ name: 'asking', tasks, store })
  const onQuestion = (): never => {
    throw new RepriseError('STORE_UNAVAILABLE', 'the other store is away')
  }
  await assert.rejects(crew.kickoff({ id: 'r', onQuestion }), { code: 'STORE_UNAVAILABLE', runId: 'r' })
  assert.equal((await store.row('r'))?.status, 'running')
  assert.equal(String(await crew.resume('r', { onQuestion: () => ({ decision: 'approve' }) })), 'settled')
})

test('a kickoff while the store is away is refused after a while, and nothing is spent', async (context) => {
  const { crew, store, inner, happened, told } = paying()
  store.away = true
  hurry(context)
  await assert.rejects(crew.kickoff({ id: 'r' }), {
    code: 'STORE_UNAVAILABLE',
    message: /could not be reached for \d+ s/,
  })
  assert.deepEqual(happened, [])
  assert.equal(told.length, 1)
  assert.equal(await inner.row('r'), undefined)
})

for (const what of ['tool', 'function']) {
  test(`a caller whose run was taken over while the store was away writes nothing, and returns the outcome of its own call of a ${what}`, async () => {
    const clock = jumpingClock()
    const inner = memoryStore({ now: clock.now, url: `memory:taken-${what}` })
    let other: Crew | undefined
    const { crew, happened } = paying({
      inner,
      byFunction: what === 'function',
      async pay({ store }) {
        store.away = true
        clock.jump(60_000)
        const taken = await other?.resume('r')
        assert.equal(taken?.questions[0]?.kind, 'doubt')
        store.away = false
      },
    })
    other = crew.with({ store: another(inner) })
    await assert.rejects(crew.kickoff({ id: 'r' }), { code: 'LEASE_LOST' })
    const answered = (await entriesOf(inner, 'r')).flatMap((entry) =>
      entry.type === 'question.answered' ? [entry] : [],
    )
    assert.partialDeepStrictEqual(answered, [{ answer: { decision: 'happened', result: 'payment 1' } }])
    assert.match(answered[0]?.answer.by ?? '', new RegExp(`^process ${process.pid} on host `))
    assert.equal(String(await other.resume('r')), 'payment 1')
    assert.deepEqual(happened, ['paid'])
  })
}

test('a caller whose run was taken over during its call returns when that call has ended', async () => {
  using _ = environmentOf({ REPRISE_LEASE_SECONDS: '0.2' })
  const clock = jumpingClock()
  const inner = memoryStore({ now: clock.now, url: 'memory:lingering' })
  const paid = Promise.withResolvers<void>()
  let other: Crew | undefined
  const { crew, happened } = paying({
    inner,
    async pay() {
      clock.jump(60_000)
      await other?.resume('r')
      await paid.promise
    },
  })
  other = crew.with({ store: another(inner) })
  await assert.rejects(crew.kickoff({ id: 'r' }), { code: 'LEASE_LOST', message: /another process took it over/ })
  assert.equal((await other.run('r').view()).questions.length, 1)
  const ending = new AbortController()
  const hints = inner.watch('r', ending.signal)
  paid.resolve()
  for await (const _hint of hints) if ((await other.run('r').view()).questions.length === 0) break
  ending.abort()
  assert.equal(String(await other.resume('r')), 'payment 1')
  assert.deepEqual(happened, ['paid'])
})

test('a store that comes back as an older copy stops the run, which names the lost entries', async () => {
  const inner = newStore()
  let current = inner
  const swapped = new Proxy(inner, { get: (_, name) => Reflect.get(current, name) as unknown })
  const { crew } = paying({
    inner: swapped,
    async pay() {
      const lines = await Array.fromAsync(inner.read('r'))
      const row = await inner.row('r')
      const older = newStore()
      if (row) await older.create(row, { ...batch(1), lines: lines.slice(0, -2) }, { owner: elsewhere('a'), ttlMs: 1 })
      current = older
    },
  })
  await assert.rejects(crew.kickoff({ id: 'r' }), {
    code: 'JOURNAL_DAMAGED',
    message: /^entries 3 to 4 of run r were acknowledged by the store and then lost: /,
  })
  assert.deepEqual(
    (await entriesOf(current, 'r')).map(({ type }) => type),
    ['run.created', 'task.started'],
  )
})

test('an outage of the store does not count towards a deadline', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  let awayMs = 1_000
  using time = deadline(realClock, 2, new AbortController().signal, () => awayMs)
  context.mock.timers.tick(1_999)
  awayMs += 500
  context.mock.timers.tick(1)
  assert.equal(time.over, false)
  context.mock.timers.tick(499)
  assert.equal(time.over, false)
  context.mock.timers.tick(1)
  assert.equal(time.over, true)
})

/** Takes the store away until so many calls have failed. */
async function leaveFor(store: FaultyStore, calls: number): Promise<void> {
  const before = store.calls.length
  store.away = true
  void until(() => store.calls.length >= before + calls).then(() => (store.away = false))
}

async function away(store: FaultyStore, over: () => boolean): Promise<void> {
  store.away = true
  await until(over)
  store.away = false
}

function count({ calls }: FaultyStore, name: string): number {
  return calls.filter((call) => call === name).length
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await setImmediate()
}

/** Every look at the clock finds another second gone. */
function hurry(context: TestContext): void {
  let time = performance.now()
  context.mock.method(performance, 'now', () => (time += 1_000))
}

/** The store as another process sees it. */
function another(store: Store): Store {
  return {
    ...store,
    url: `${store.url}#another`,
    acquire: (run, _, ttlMs) => store.acquire(run, elsewhere('b'), ttlMs),
  }
}
