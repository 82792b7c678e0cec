// A kickoff with the id of an active run and `whenHeld: 'follow'` waits for the holder, repeats nothing, and continues
// the run if it is released.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, type Logger } from 'reprise'
import type { Owner, Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { entriesOf, newStore, refusal } from '../../engine/support.ts'

const quiet: Logger = { info: () => {}, warn: () => {} }
const inputs = { topic: 'water' }
const follow = { id: 'r', inputs, whenHeld: 'follow' } as const

/** A crew whose first task waits until the test opens the gate. */
function waiting({ store = newStore(), fail = false, ask = false } = {}) {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const { promise: working, resolve: works } = Promise.withResolvers<void>()
  let calls = 0
  const script = scriptedModel([{ when: 'On water', reply: () => `call ${++calls}` }])
  const model: typeof script = {
    ...script,
    async doGenerate(request) {
      works()
      await gate
      if (fail) throw new Error('no power')
      return script.doGenerate(request)
    },
  }
  const agent = new Agent({ role: 'A', goal: 'g', model, maxRetries: 0 })
  const first = new Task({ name: 'first', description: 'On {topic}', agent, humanInput: ask })
  const second = new Task({ name: 'second', description: 'Then', effect: 'read', run: () => `after call ${calls}` })
  const crew = new Crew({ name: 'waiting', tasks: [first, second], store, logger: quiet })
  return { crew, store, open, working, calls: () => calls }
}

/** A process on another machine. */
const elsewhere: Owner = { host: 'box1.example', pid: 4242, start: '1', boot: 'b1', instance: 'i1' }

describe('a kickoff that follows', () => {
  test('whenHeld: follow lets another call of this process take the lease, even if the store is slow', async () => {
    const inner = newStore()
    let looks = 0
    const store: Store = {
      ...inner,
      async acquire(run, owner, ttlMs) {
        await new Promise(setImmediate)
        return inner.acquire(run, owner, ttlMs)
      },
      holder(run) {
        assert.ok(++looks < 100, 'the follower keeps looking')
        return inner.holder(run)
      },
    }
    const { crew, open, calls } = waiting({ store })
    open()
    await crew.enqueue({ id: 'r', inputs })
    const results = await Promise.all([1, 2, 3].map(() => crew.run('r').resume({ whenHeld: 'follow' })))
    assert.deepEqual([results.map(({ status }) => status), calls()], [['completed', 'completed', 'completed'], 1])
  })

  test('whenHeld: follow returns the result of the run that another call executes, and executes nothing', async () => {
    const { crew, store, open, calls } = waiting()
    const one = crew.kickoff({ id: 'r', inputs })
    await one.started
    const two = crew.kickoff(follow)
    const other = new Crew({ name: 'waiting', tasks: [...crew.tasks], store, logger: quiet })
    const three = other.run('r').resume({ whenHeld: 'follow' })
    const run = await three.started
    const types: string[] = []
    const heard = (async () => {
      for await (const { type } of run.events()) types.push(type)
    })()
    open()
    const results = await Promise.all([one, two, three, run.result()])
    assert.deepEqual(
      results.map((result) => [result.runId, result.status, result.raw]),
      results.map(() => ['r', 'completed', 'after call 1']),
    )
    await heard
    assert.equal(types.at(-1), 'run.completed')
    assert.equal(calls(), 1)
    assert.equal((await entriesOf(store, 'r')).filter(({ type }) => type === 'run.resumed').length, 0)
  })

  test('concurrent calls with whenHeld: follow and a new id create one run, and all return its result', async () => {
    const { crew, open, calls } = waiting()
    const all = Array.from({ length: 20 }, () => crew.kickoff(follow))
    open()
    const results = await Promise.all(all)
    assert.deepEqual(new Set(results.map(({ runId, raw }) => `${runId}: ${raw}`)), new Set(['r: after call 1']))
    assert.equal(calls(), 1)
  })

  test('whenHeld: follow is refused at once if the inputs differ from those of the run', async () => {
    const { crew, open } = waiting()
    const one = await crew.kickoff({ id: 'r', inputs }).started
    await assert.rejects(crew.kickoff({ ...follow, inputs: { topic: 'fire' } }), { code: 'INPUTS_DIFFER' })
    open()
    assert.equal((await one.result()).status, 'completed')
  })

  test('whenHeld: follow stops when its signal aborts, and leaves the run alone', async () => {
    const { crew, open } = waiting()
    const one = await crew.kickoff({ id: 'r', inputs }).started
    const client = new AbortController()
    const two = crew.kickoff({ ...follow, signal: client.signal })
    const run = await two.started
    client.abort()
    await assert.rejects(two, { code: 'RUN_HELD', runId: 'r' })
    assert.equal((await run.view()).status, 'running')
    await assert.rejects(crew.kickoff({ ...follow, signal: client.signal }), { code: 'RUN_HELD' })
    open()
    assert.equal((await one.result()).status, 'completed')
    assert.equal((await run.result()).raw, 'after call 1', 'the handle waits for the executing call')
  })

  test('whenHeld: follow rejects with the failure of the run, and does not retry it', async () => {
    const { crew, store, open } = waiting({ fail: true })
    const one = crew.kickoff({ id: 'r', inputs })
    await one.started
    const two = crew.kickoff(follow)
    await two.started
    open()
    for (const call of [one, two]) await assert.rejects(call, { code: 'MODEL_FAILED', message: /no power/ })
    assert.equal((await entriesOf(store, 'r')).filter(({ type }) => type === 'run.failed').length, 1)
  })

  test('whenHeld: follow returns the question at which the run stops; a second call continues the run', async () => {
    const { crew, open, calls } = waiting({ ask: true })
    const one = await crew.kickoff({ id: 'r', inputs }).started
    const two = crew.kickoff(follow)
    await two.started
    open()
    const suspended = await two
    assert.deepEqual([suspended.status, suspended.questions.length], ['suspended', 1])
    assert.equal((await one.result()).status, 'suspended')
    await one.answer(suspended.questions[0]?.id ?? '', { decision: 'approve' })
    assert.equal((await crew.kickoff(follow)).status, 'completed')
    assert.equal(calls(), 1)
  })

  test('whenHeld: follow continues a run that was held only for a moment, such as to record an answer', async () => {
    const { crew, store, open } = waiting({ ask: true })
    open()
    const { questions } = await crew.kickoff({ id: 'r', inputs })
    await crew.run('r').answer(questions[0]?.id ?? '', { decision: 'approve' })
    const lease = await store.acquire('r', elsewhere, 60_000)
    const call = crew.kickoff(follow)
    await call.started
    await store.release(lease)
    assert.equal((await call).status, 'completed')
  })

  test('whenHeld: follow takes over a run whose holder has died', async () => {
    const { crew, store, open, working, calls } = waiting()
    const stop = new AbortController()
    const one = crew.kickoff({ id: 'r', inputs, signal: stop.signal })
    await working
    const lease = await taken(store)
    open()
    await assert.rejects(one, { code: 'LEASE_LOST' })
    const two = crew.kickoff(follow)
    const run = await two.started
    assert.equal(calls(), 1)
    await store.release(lease)
    assert.equal((await two).status, 'completed')
    assert.equal((await run.result()).status, 'completed')
  })

  test('whenHeld: follow continues a queued run, and one that its holder releases between two steps', async () => {
    const { crew, open, working, calls } = waiting()
    await crew.enqueue({ id: 'r', inputs })
    const slice = crew.advance('r', { until: 0 })
    await working
    const call = crew.kickoff(follow)
    await call.started
    open()
    assert.deepEqual(await slice, { status: 'more' })
    assert.deepEqual([(await call).status, calls()], ['completed', 1])
    await crew.enqueue({ id: 'r2', inputs })
    assert.equal((await crew.kickoff({ ...follow, id: 'r2' })).status, 'completed')
  })

  test('whenHeld refuses values other than refuse and follow', async () => {
    const { crew } = waiting()
    const error = await refusal(() => crew.kickoff({ id: 'r', inputs, whenHeld: 'wait' as never }))
    assert.deepEqual([error.code, /whenHeld is "wait".*refuse.*follow/.test(error.message)], ['OPTION_INVALID', true])
  })
})

/** Takes the lease of an active run, as a process that considers it abandoned. */
async function taken(store: Store): Promise<Awaited<ReturnType<Store['acquire']>>> {
  const holder = await store.holder('r')
  assert.ok(holder)
  const mine = await store.acquire('r', holder, 1)
  await store.release(mine)
  return store.acquire('r', elsewhere, 60_000)
}
