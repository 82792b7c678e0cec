// Dispatchers: which wakes are sent, and how a worker advances runs on request.
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { journalVersion } from 'reprise/journal'
import { memoryStore } from 'reprise/stores'
import { nextWakeAt, startWorker, type DispatcherWork, type Dispatcher, type Wake } from 'reprise/workers'
import { z } from 'zod'
import { deadOwner } from '../../../src/testing/store-contract/harness.ts'
import { entriesOf } from '../../engine/support.ts'
import { claimed, claims, hearing, model, slow, workOnce } from '../worker-crews.ts'

/** An in-process queue: advances each run that it is woken for, unless it loses the wake. */
function queue({ loses = () => false }: { loses?: (wake: Wake) => boolean } = {}) {
  const told: { readonly wake: Wake; readonly at: number | undefined }[] = []
  const served = Promise.withResolvers<DispatcherWork>()
  const dispatcher: Dispatcher = {
    name: 'queue',
    async wake(wake, at) {
      told.push({ wake, at })
      if (loses(wake) || (at !== undefined && at > Date.now())) return
      const work = await served.promise
      void advanceOn(work, wake, `job-${told.length}`)
    },
    async serve(work) {
      served.resolve(work)
      await new Promise<void>((resolve) => work.signal.addEventListener('abort', () => resolve()))
    },
  }
  async function advanceOn(work: DispatcherWork, wake: Wake, via: string): Promise<void> {
    const next = nextWakeAt(await work.advance(wake.runId, { via }))
    if (next !== undefined) await dispatcher.wake(wake, next)
  }
  return { dispatcher, told, work: served.promise }
}

test('a run queued without a dispatcher is swept to it, and records the call that claimed it', async () => {
  const store = memoryStore()
  const { dispatcher, told } = queue()
  const ear = hearing()
  await using _ = await startWorker([claims(store)], { dispatcher, pollSeconds: 3_600, onEvent: ear.onEvent })
  await claims(store).enqueue({ id: 'a', inputs: { notes: 'a' } })
  await ear.until((event) => event.type === 'left' && event.outcome === 'completed')
  const { key: _key, ...first } = { ...told[0]?.wake }
  assert.deepEqual(first, { runId: 'a', crew: 'claims', version: '', format: journalVersion })
  const view = await claims(store).run('a').view()
  assert.deepEqual(view.via, { dispatcher: 'queue', id: 'job-1' })
  const resumed = (await entriesOf(store, 'a')).find((entry) => entry.type === 'run.resumed')
  assert.deepEqual(resumed?.via, view.via)
})

test('enqueue wakes the dispatcher at once, passes on a delay, and does not fail if the dispatcher does', async () => {
  const warnings: string[] = []
  const told: (readonly [string, number | undefined])[] = []
  let down = false
  const dispatcher: Dispatcher = {
    name: 'queue',
    async wake({ runId }, at) {
      if (down) throw new Error('the queue is down')
      told.push([runId, at])
    },
  }
  const logger = { info: () => undefined, warn: (words: string) => void warnings.push(words) }
  const crew = claims(memoryStore(), { dispatcher, logger })
  await crew.enqueue({ id: 'now', inputs: { notes: 'x' } })
  const before = Date.now()
  await crew.enqueue({ id: 'later', inputs: { notes: 'x' }, delay: 60 })
  assert.deepEqual(told[0], ['now', undefined])
  assert.equal(told[1]?.[0], 'later')
  assert.ok((told[1]?.[1] ?? 0) >= before + 60_000)
  down = true
  await crew.enqueue({ id: 'untold', inputs: { notes: 'x' } })
  assert.match(warnings.join(), /run untold: queue could not be notified .* the queue is down/)
})

test('a worker claims a run itself when its wake has no effect', async () => {
  const store = memoryStore()
  const { dispatcher, told } = queue({ loses: ({ runId }) => runId === 'b' })
  const ear = hearing()
  const crew = claims(store)
  for (const id of ['a', 'b']) await crew.enqueue({ id, inputs: { notes: id } })
  const options = { dispatcher, pollSeconds: 0.01, resendSeconds: 0.02, onEvent: ear.onEvent }
  await using _ = await startWorker([crew], options)
  for (const id of ['a', 'b'])
    await ear.until((event) => event.type === 'left' && event.runId === id && event.outcome === 'completed')
  assert.equal(told.filter(({ wake }) => wake.runId === 'b').length, 1)
  assert.equal((await crew.run('b').view()).via, undefined)
})

test('a process that executes nothing resends a lost wake with another key', async () => {
  const store = memoryStore()
  const keys: (string | undefined)[] = []
  const crew = claims(store)
  await crew.enqueue({ id: 'a', inputs: { notes: 'a' } })
  const heard = Promise.withResolvers<void>()
  const dispatcher: Dispatcher = {
    name: 'functions',
    async wake({ runId, key }) {
      keys.push(key)
      if (keys.length < 3) return
      await crew.advance(runId)
      heard.resolve()
    },
  }
  await using _ = await startWorker([crew], { dispatcher, pollSeconds: 0.01, resendSeconds: 0.02 })
  await heard.promise
  assert.equal(new Set(keys).size, keys.length)
  assert.equal((await crew.run('a').view()).status, 'completed')
})

test('the run of a dead local process is woken long before its lease expires', async () => {
  const store = memoryStore()
  const crew = claims(store)
  await crew.enqueue({ id: 'a', inputs: { notes: 'a' } })
  await store.claim(deadOwner(), 3_600_000, [{ crew: 'claims', version: '', format: journalVersion }], { limit: 1 })
  const { dispatcher } = queue()
  const ear = hearing()
  await using _ = await startWorker([crew], { dispatcher, pollSeconds: 0.05, onEvent: ear.onEvent })
  await ear.until((event) => event.type === 'left' && event.outcome === 'completed')
})

test('a dispatcher that was away is woken when it is back, and nothing else is affected', async () => {
  const store = memoryStore()
  const { dispatcher: inner } = queue()
  let failures = 0
  const dispatcher: Dispatcher = {
    ...inner,
    async wake(...args) {
      if (++failures <= 1) throw new Error('connection refused')
      await inner.wake(...args)
    },
  }
  const ear = hearing()
  const crew = claims(store)
  await crew.enqueue({ id: 'a', inputs: { notes: 'a' } })
  await using worker = await startWorker([crew], { dispatcher, pollSeconds: 0.05, onEvent: ear.onEvent })
  await ear.until((event) => event.type === 'left' && event.outcome === 'completed')
  const about = ear.heard.map(({ type }) => type).filter((event) => event.startsWith('dispatcher'))
  assert.deepEqual(about, ['dispatcher-away', 'dispatcher-back'])
  assert.match(worker.metrics(), /reprise_worker_dispatcher_failures_total\{dispatcher="queue"\} 1/)
})

test('many wakes that fail at once count as one failure, and are retried after a second', async () => {
  const store = memoryStore()
  const { dispatcher: inner } = queue()
  const ids = Array.from({ length: 10 }, (_, index) => `r${index}`)
  let down = true
  const dispatcher: Dispatcher = {
    ...inner,
    async wake(...args) {
      if (down) throw new Error('connection refused')
      await inner.wake(...args)
    },
  }
  const ear = hearing()
  const crew = claims(store)
  for (const id of ids) await crew.enqueue({ id, inputs: { notes: id } })
  const began = performance.now()
  await using _ = await startWorker([crew], { dispatcher, pollSeconds: 0.05, onEvent: ear.onEvent })
  await ear.until((event) => event.type === 'dispatcher-away')
  down = false
  await ear.until((event) => event.type === 'dispatcher-back')
  const seconds = (performance.now() - began) / 1_000
  for (const id of ids) await ear.until((event) => event.type === 'left' && event.runId === id)
  // it would be minutes if each failure doubled the pause
  assert.ok(seconds < 60, `${seconds} seconds`)
})

test('advancing a run that is not ready leaves it unchanged and returns its status', async () => {
  const store = memoryStore()
  const { dispatcher, work } = queue({ loses: () => true })
  const crew = claims(store)
  await using _ = await startWorker([crew], { dispatcher })
  const { advance } = await work
  await crew.kickoff({ id: 'done', inputs: { notes: 'x' } })
  await crew.enqueue({ id: 'later', inputs: { notes: 'x' }, delay: 60 })
  const { crew: held, hasBegun, go } = slow(store)
  const kickedOff = held.kickoff({ id: 'held', inputs: { notes: 'x' } })
  await hasBegun
  const before = await Promise.all(['done', 'later'].map((id) => entriesOf(store, id)))
  assert.deepEqual(await advance('done'), { status: 'completed' })
  const later = await advance('later')
  assert.ok(later.status === 'waiting' && (later.at ?? 0) > Date.now() + 50_000)
  assert.deepEqual(await advance('held'), { status: 'other', crew: 'slow', version: '' })
  await assert.rejects(advance('missing'), { code: 'RUN_NOT_FOUND', message: /no run missing in memory:/ })
  assert.deepEqual(await Promise.all(['done', 'later'].map((id) => entriesOf(store, id))), before)
  go()
  await kickedOff
})

test('two requests for one run advance it once', async () => {
  const store = memoryStore()
  const { dispatcher, work } = queue({ loses: () => true })
  const { crew, begun, hasBegun, go } = slow(store)
  await using _ = await startWorker([crew], { dispatcher })
  await crew.enqueue({ id: 'a', inputs: { notes: 'a' } })
  const { advance } = await work
  const first = advance('a')
  await hasBegun
  assert.equal((await advance('a')).status, 'held')
  go()
  assert.deepEqual(await first, { status: 'completed' })
  assert.deepEqual(begun, ['a/first', 'a/second'])
})

test('dispatched runs respect the concurrency of the worker and maxRuns of the crew', async () => {
  for (const limits of [{ concurrency: 2 }, { maxRuns: 2 }]) {
    const store = memoryStore()
    let now = 0
    let most = 0
    const task = new Task({
      name: 'count',
      effect: 'read',
      run: async () => {
        most = Math.max(most, ++now)
        await new Promise((resolve) => setImmediate(resolve))
        now--
        return 'done'
      },
    })
    const crew = new Crew({ name: 'counted', store, tasks: [task], ...('maxRuns' in limits && limits) })
    const { dispatcher } = queue()
    const ear = hearing()
    const ids = Array.from({ length: 8 }, (_, index) => `r${index}`)
    for (const id of ids) await crew.enqueue({ id })
    const { concurrency = 10 } = limits as { concurrency?: number }
    await using _ = await startWorker([crew], { dispatcher, concurrency, pollSeconds: 0.01, onEvent: ear.onEvent })
    for (const id of ids) await ear.until((event) => event.type === 'left' && event.runId === id)
    assert.ok(most <= 2, `${most} at once`)
  }
})

test('a run that waits for the limit of its crew does not hold up a crew of that name in another store', async () => {
  const { dispatcher, work } = queue({ loses: () => true })
  const full = slow(memoryStore(), { maxRuns: 1 })
  const other = slow(memoryStore(), { maxRuns: 1 })
  await using _ = await startWorker([full.crew, other.crew], { dispatcher, pollSeconds: 0.01 })
  for (const id of ['a', 'b']) await full.crew.enqueue({ id, inputs: { notes: id } })
  await other.crew.enqueue({ id: 'c', inputs: { notes: 'c' } })
  const { advance } = await work
  const all = [advance('a')]
  await full.hasBegun
  all.push(advance('b'), advance('c'))
  await other.hasBegun
  full.go()
  other.go()
  for (const outcome of await Promise.all(all)) assert.equal(outcome.status, 'completed')
})

test('the time of a slice starts with its work, not while it waits for room', async () => {
  const store = memoryStore()
  const { dispatcher, work } = queue({ loses: () => true })
  const { crew, hasBegun, go } = slow(store)
  await using _ = await startWorker([crew], { dispatcher, concurrency: 1, sliceSeconds: 1.005 })
  for (const id of ['a', 'b']) await crew.enqueue({ id, inputs: { notes: id } })
  const { advance } = await work
  const first = advance('a', { sliceSeconds: 1.005 })
  await hasBegun
  const second = advance('b', { sliceSeconds: 0.2005 })
  await wait(250)
  go()
  assert.deepEqual(await first, { status: 'completed' })
  assert.deepEqual(await second, { status: 'completed' })
})

test('a slice ends in time after a garbage collection', async () => {
  const store = memoryStore()
  const { dispatcher, work } = queue({ loses: () => true })
  const begun: string[] = []
  const take = async (name: string): Promise<void> => {
    begun.push(name)
    // enough for several garbage collections
    for (let time = 0; time < 20; time++)
      await wait(
        1,
        Array.from({ length: 300_000 }, (_, index) => ({ index })),
      )
    await wait(200)
  }
  const tasks = ['a', 'b'].map((name) => new Task({ name, effect: 'read', run: () => take(name) }))
  const crew = new Crew({ name: 'cleaned', store, tasks })
  await using worker = await startWorker([crew], { dispatcher })
  await crew.enqueue({ id: 'given' })
  assert.deepEqual(await (await work).advance('given', { sliceSeconds: 0.2 }), { status: 'more' })
  await worker.stop()
  await crew.enqueue({ id: 'own' })
  const events = await workOnce([crew], { sliceSeconds: 0.2 })
  assert.equal(claimed(events).filter((id) => id === 'own').length, 2)
  assert.deepEqual(begun.toSorted(), ['a', 'a', 'b', 'b'])
})

test('an answer from a process without a dispatcher continues the run', async () => {
  const store = memoryStore()
  const pay = tool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ to: z.string() }),
    approval: true,
    run: ({ to }) => `paid ${to}`,
  })
  const agent = new Agent({ role: 'Clerk', goal: 'Help', model, tools: [pay] })
  const make = () =>
    new Crew({ name: 'asking', agents: [agent], store, tasks: [new Task({ name: 'pay', description: 'Ask' })] })
  const { dispatcher } = queue()
  const ear = hearing()
  await make().enqueue({ id: 'a' })
  await using _ = await startWorker([make()], { dispatcher, onEvent: ear.onEvent })
  await ear.until((event) => event.type === 'left' && event.outcome === 'waiting')
  const [question] = (await make().run('a').view()).questions
  await make()
    .run('a')
    .answer(question?.id ?? '', { decision: 'approve' })
  await ear.until((event) => event.type === 'left' && event.outcome !== 'waiting')
})

test('a stopping worker hands back dispatched runs and accepts no more', async () => {
  const store = memoryStore()
  const { dispatcher, work } = queue({ loses: () => true })
  const { crew, hasBegun, go } = slow(store)
  const worker = await startWorker([crew], { dispatcher })
  for (const id of ['a', 'b']) await crew.enqueue({ id, inputs: { notes: id } })
  const { advance } = await work
  const first = advance('a')
  await hasBegun
  const stopped = worker.stop()
  assert.deepEqual(await advance('b'), { status: 'more' })
  go()
  assert.deepEqual(await first, { status: 'more' })
  await stopped
  assert.deepEqual(claimed(await workOnce([crew])).toSorted(), ['a', 'b'])
})

test('a worker with once ends after waking every ready run of every store, however little room it has', async () => {
  const crews = [claims(memoryStore()), claims(memoryStore(), { name: 'letters' })]
  for (const crew of crews)
    for (const id of ['1', '2']) await crew.enqueue({ id: `${crew.name}-${id}`, inputs: { notes: id } })
  const told: string[] = []
  const dispatcher: Dispatcher = {
    name: 'caller',
    async wake({ runId, crew }) {
      await new Promise((resolve) => setImmediate(resolve))
      told.push(runId)
      await crews.find(({ name }) => name === crew)?.advance(runId)
    },
  }
  await workOnce(crews, { dispatcher, concurrency: 1, pollSeconds: 0.01 })
  assert.deepEqual(told.toSorted(), ['claims-1', 'claims-2', 'letters-1', 'letters-2'])
})

test('waking a backlog does not list all of it for each run', async () => {
  const store = memoryStore()
  let rows = 0
  const counting = {
    ...store,
    ready: async (...given: Parameters<typeof store.ready>) => counted(await store.ready(...given)),
  }
  const counted = <Row>(found: Row[]): Row[] => ((rows += found.length), found)
  const { dispatcher, told } = queue({ loses: () => true })
  const crew = claims(counting)
  for (let run = 0; run < 200; run++) await crew.enqueue({ id: `r${run}`, inputs: { notes: 'x' } })
  const ear = hearing()
  await using _ = await startWorker([crew], { dispatcher, pollSeconds: 3_600, onEvent: ear.onEvent })
  await ear.until(() => told.length === 200)
  assert.equal(told.length, 200)
  assert.ok(rows <= 600, `${rows} rows`)
})

test('startWorker refuses once with a dispatcher that calls the worker, and names both', async () => {
  const { dispatcher } = queue()
  await assert.rejects(startWorker([claims(memoryStore())], { dispatcher, once: true }), {
    code: 'OPTION_INVALID',
    message: /once cannot be combined with the dispatcher queue, which calls this worker/,
  })
  await assert.rejects(startWorker([claims(memoryStore())], { dispatcher: { name: 'x' } as never }), {
    code: 'OPTION_INVALID',
    message: /dispatcher is .*; give a dispatcher: \{ name, wake, serve \}/,
  })
})

test('a dispatcher that cannot be served ends the worker with the reason', async () => {
  const dispatcher: Dispatcher = {
    name: 'broken',
    wake: async () => undefined,
    serve: async () => {
      throw new Error('no port')
    },
  }
  const worker = await startWorker([claims(memoryStore())], { dispatcher })
  await assert.rejects(worker.done, /no port/)
})
