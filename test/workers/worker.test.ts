import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { Agent, Task, tool } from 'reprise'
import { memoryStore, currentOwner, type Store } from 'reprise/stores'
import { startWorker } from 'reprise/workers'
import { z } from 'zod'
import { describeEntry } from '../../src/journal/table/entry-table.ts'
import { entriesOf } from '../engine/support.ts'
import { claimed, claims, hearing, model, slow, workOnce } from './worker-crews.ts'

test('a worker executes queued runs and reports their outcomes', async () => {
  const crew = claims(memoryStore())
  const runs = await Promise.all(['a', 'b', 'c'].map((id) => crew.enqueue({ id, inputs: { notes: id } })))
  const events = await workOnce([crew])
  for (const run of runs) {
    const result = await run.result()
    assert.equal(result.status === 'completed' && result.raw, `Triaged ${run.id}`)
  }
  const left = events.flatMap((event) => (event.type === 'left' ? [`${event.runId} ${event.outcome}`] : []))
  assert.deepEqual(left.toSorted(), ['a completed', 'b completed', 'c completed'])
  assert.equal(events.at(-1)?.type, 'stopped')
})

test('runs of higher priority come first, then the longest waiting', async () => {
  const crew = claims(memoryStore())
  for (const [id, priority] of [
    ['low', 'low'],
    ['first', 'normal'],
    ['second', 'normal'],
    ['high', 'high'],
  ] as const)
    await crew.enqueue({ id, inputs: { notes: 'x' }, priority })
  const events = await workOnce([crew], { concurrency: 1 })
  assert.deepEqual(claimed(events), ['high', 'first', 'second', 'low'])
})

test('a delayed run does not start early', async () => {
  let now = Date.now()
  const crew = claims(memoryStore({ now: () => now }))
  await crew.enqueue({ id: 'later', inputs: { notes: 'x' }, delay: 60 })
  assert.deepEqual(claimed(await workOnce([crew])), [])
  now += 61_000
  assert.deepEqual(new Set(claimed(await workOnce([crew]))), new Set(['later']))
  assert.equal((await crew.run('later').view()).status, 'completed')
})

test('an idle worker starts runs that are queued later', async () => {
  const crew = claims(memoryStore())
  const ear = hearing()
  await using worker = await startWorker([crew], { pollSeconds: 3_600, onEvent: ear.onEvent })
  const run = await crew.enqueue({ id: 'new', inputs: { notes: 'x' } })
  await ear.until((event) => event.type === 'left')
  assert.equal((await run.view()).status, 'completed')
  assert.equal(worker.health().status, 'ok')
})

test('a lost hint delays a run only until the next poll', async () => {
  const store = memoryStore()
  const deaf: Store = { ...store, watch: (_, signal) => store.watch('no such run', signal) }
  const ear = hearing()
  await using _ = await startWorker([claims(deaf)], { pollSeconds: 0.02, onEvent: ear.onEvent })
  const run = await claims(store).enqueue({ id: 'unheard', inputs: { notes: 'x' } })
  await ear.until((event) => event.type === 'left')
  assert.equal((await run.view()).status, 'completed')
})

test('a worker does not claim its own run whose lease expired while the store was away', async () => {
  let passed = 0
  const inner = memoryStore({ now: () => Date.now() + passed })
  let looks = 0
  const asked = Promise.withResolvers<void>()
  const store: Store = {
    ...inner,
    async claim(...args) {
      const leases = await inner.claim(...args)
      if (passed > 0 && ++looks === 2) asked.resolve()
      return leases
    },
  }
  const { crew, begun, go } = slow(store)
  await crew.enqueue({ id: 'a', inputs: { notes: 'a' } })
  const { heard, onEvent, until } = hearing()
  await using _worker = await startWorker([crew], { pollSeconds: 0.01, onEvent })
  await until(({ type }) => type === 'claimed')
  passed = 60_000
  await asked.promise
  go()
  await until((event) => event.type === 'left' && event.outcome === 'completed')
  assert.equal(heard.filter(({ type }) => type === 'claimed').length, 1)
  assert.deepEqual(begun, ['a/first', 'a/second'])
})

test('a worker keeps to its concurrency and to maxRuns of each crew', async () => {
  const store = memoryStore()
  const { crew, begun, go } = slow(store, { maxRuns: 2 })
  const others = claims(store)
  for (const id of ['a', 'b', 'c', 'd']) await crew.enqueue({ id, inputs: { notes: id } })
  for (const id of ['e', 'f']) await others.enqueue({ id, inputs: { notes: id } })
  const ear = hearing()
  const worker = await startWorker([crew, others], { concurrency: 3, once: true, onEvent: ear.onEvent })
  await ear.until((event) => event.type === 'left' && event.runId === 'f')
  await ear.until((event) => event.type === 'claimed' && event.runId === 'b')
  // long enough for the next claims
  await crew.runs().page()
  assert.deepEqual(new Set(claimed(ear.heard)), new Set(['a', 'b', 'e', 'f']))
  assert.match(worker.metrics(), /^reprise_worker_runs_in_progress\{crew="slow"\} 2$/m)
  go()
  await worker.done
  assert.equal(begun.length, 8)
})

test('a stopped worker releases its runs between two steps, and another worker continues them there', async () => {
  const store = memoryStore()
  const { crew, begun, go } = slow(store)
  const run = await crew.enqueue({ id: 'a', inputs: { notes: 'a' } })
  const ear = hearing()
  const worker = await startWorker([crew], { onEvent: ear.onEvent })
  await ear.until((event) => event.type === 'claimed')
  const stopped = worker.stop()
  assert.equal(worker.health().status, 'stopping')
  go()
  await stopped
  assert.deepEqual(begun, ['a/first'])
  assert.equal((await run.view()).status, 'queued')
  assert.deepEqual(ear.heard.find((event) => event.type === 'left')?.outcome, 'more')
  await crew.enqueue({ id: 'b', inputs: { notes: 'b' } })
  await workOnce([crew], { concurrency: 1 })
  assert.deepEqual(begun, ['a/first', 'a/second', 'b/first', 'b/second'])
  assert.equal((await run.view()).status, 'completed')
})

test('a step longer than the grace period is cut off, and its run stays due', async () => {
  const store = memoryStore()
  const { crew, go } = slow(store)
  const run = await crew.enqueue({ id: 'a', inputs: { notes: 'a' } })
  const ear = hearing()
  const worker = await startWorker([crew], { onEvent: ear.onEvent })
  await ear.until((event) => event.type === 'claimed')
  await worker.stop({ graceSeconds: 0 })
  assert.deepEqual(
    ear.heard.find((event) => event.type === 'cut-off'),
    { type: 'cut-off', runs: ['a'] },
  )
  assert.equal((await run.view()).status, 'queued')
  go()
  await workOnce([crew])
  assert.equal((await run.view()).status, 'completed')
})

test('with slices, runs take turns between their steps', async () => {
  // longer than a slice
  const run = () => new Promise((resolve) => void setTimeout(resolve, 3, 'done'))
  const tasks = ['one', 'two', 'three'].map((name) => new Task({ name, effect: 'read', run }))
  const crew = claims(memoryStore(), { tasks })
  for (const id of ['a', 'b']) await crew.enqueue({ id, inputs: {} } as never)
  const events = await workOnce([crew], { concurrency: 1, sliceSeconds: 0.001 })
  assert.deepEqual(claimed(events).slice(0, 4), ['a', 'b', 'a', 'b'])
  assert.equal((await crew.run('b').view()).status, 'completed')
})

test('a run that waits for a person is released, and continues in a worker after the answer', async () => {
  const pay = tool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ to: z.string() }),
    approval: true,
    run: () => 'paid',
  })
  const agent = new Agent({ role: 'Clerk', goal: 'Help', model, tools: [pay] })
  const crew = claims(memoryStore(), { agents: [agent], tasks: [new Task({ name: 'ask', description: 'Ask' })] })
  const run = await crew.enqueue({ id: 'a' } as never)
  const ear = hearing()
  await using _ = await startWorker([crew], { pollSeconds: 3_600, onEvent: ear.onEvent })
  await ear.until((event) => event.type === 'left' && event.outcome === 'waiting')
  const [question] = (await run.view()).questions
  await run.answer(question?.id ?? '', { decision: 'deny', reason: 'no' } as never)
  await ear.until((event) => event.type === 'left' && event.outcome !== 'waiting')
})

test('an answer to a nested crew wakes the parent run', async () => {
  const ask = new Task({ name: 'ask', description: 'Triage {notes}', humanInput: true })
  const store = memoryStore()
  const inner = claims(store, { name: 'inner', tasks: [ask] })
  const crew = claims(store, { name: 'outer', tasks: [new Task({ name: 'within', crew: inner })] })
  const run = await crew.enqueue({ id: 'a', inputs: { notes: 'x' } } as never)
  const ear = hearing()
  await using _ = await startWorker([crew, inner], { pollSeconds: 3_600, onEvent: ear.onEvent })
  await ear.until((event) => event.type === 'left' && event.outcome === 'waiting')
  const [question] = (await run.view()).questions
  assert.equal(question?.id, 'within/q1')
  await run.answer('within/q1', { decision: 'approve' } as never)
  await ear.until((event) => event.type === 'left' && event.outcome === 'completed')
  // no worker may claim the child run
  assert.deepEqual(new Set(claimed(ear.heard)), new Set(['a']))
})

test('a failed run stays failed, and an unreadable run does not stop the worker', async () => {
  const store = memoryStore()
  const broken: Store = {
    ...store,
    read: (run, after) => {
      if (run === 'broken') throw new Error('the disk cannot be read')
      return store.read(run, after)
    },
  }
  const crew = claims(broken)
  await crew.enqueue({ id: 'broken', inputs: { notes: 'x' }, priority: 'high' })
  await crew.enqueue({ id: 'failing', inputs: { notes: 'the model is down' } })
  await crew.enqueue({ id: 'fine', inputs: { notes: 'x' } })
  const events = await workOnce([crew], { concurrency: 1 })
  const refused = events.filter((event) => event.type === 'refused')
  assert.match(String(refused[0]?.error), /the disk cannot be read/)
  // the second try comes at once; a worker with `once` does not wait a second for the third
  assert.equal(refused.length, 2)
  assert.equal((await crew.run('fine').view()).status, 'completed')
  const failed = events.find((event) => event.type === 'left' && event.runId === 'failing')
  assert.ok(failed?.type === 'left' && failed.outcome === 'failed')
  assert.match(String(failed.error), /the provider is down/)
})

test('an outage of the store is reported, and neither ends the worker nor fails a run', async () => {
  const store = memoryStore()
  let away = true
  const flaky: Store = {
    ...store,
    claim: (...given) => (away ? Promise.reject(new Error('connection refused')) : store.claim(...given)),
  }
  const crew = claims(flaky)
  await crew.enqueue({ id: 'a', inputs: { notes: 'x' } })
  const ear = hearing()
  await using worker = await startWorker([crew], { onEvent: ear.onEvent })
  await ear.until((event) => event.type === 'store-away')
  away = false
  await crew.enqueue({ id: 'b', inputs: { notes: 'x' } })
  await ear.until((event) => event.type === 'left' && event.runId === 'b')
  assert.equal(ear.heard.filter((event) => event.type === 'store-back').length, 1)
  assert.match(worker.metrics(), /claim_failures_total\{store="memory:"\} 1/)
})

test('an unavailable store ends a worker with once with its error', async () => {
  const store: Store = { ...memoryStore(), claim: () => Promise.reject(new Error('connection refused')) }
  const worker = await startWorker([claims(store)], { once: true })
  await assert.rejects(worker.done, /connection refused/)
})

test('a claim answered after the stop is released, and a claim never answered is not awaited', async () => {
  const store = memoryStore()
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  const slowly: Store = {
    ...store,
    async claim(...given) {
      const leases = await store.claim(...given)
      asked.resolve()
      await answered.promise
      return leases
    },
  }
  const crew = claims(slowly)
  await crew.enqueue({ id: 'a', inputs: { notes: 'x' } })
  const worker = await startWorker([crew])
  await asked.promise
  const stopped = worker.stop()
  answered.resolve()
  await stopped
  assert.equal((await crew.run('a').view()).status, 'queued')
  assert.equal(await store.holder('a'), undefined)
  await workOnce([claims(store)])
  assert.equal((await crew.run('a').view()).status, 'completed')
})

test('crews with a store in memory each are served from their own stores', async () => {
  const crews = ['one', 'two'].map((name) => claims(memoryStore(), { name }))
  for (const crew of crews) await crew.enqueue({ id: crew.name, inputs: { notes: 'x' } })
  await workOnce(crews)
  for (const crew of crews) assert.equal((await crew.run(crew.name).view()).status, 'completed')
})

test('runs with the same id in two stores are both executed, also at the same time', async () => {
  const { crew, go } = slow(memoryStore({ url: 'memory:one' }))
  const other = claims(memoryStore({ url: 'memory:other' }))
  await crew.enqueue({ id: 'nightly', inputs: { notes: 'x' } })
  const ear = hearing()
  const worker = await startWorker([crew, other], { pollSeconds: 0.01, onEvent: ear.onEvent })
  await ear.until(({ type }) => type === 'claimed')
  await other.enqueue({ id: 'nightly', inputs: { notes: 'x' } })
  await ear.until((event) => event.type === 'left' && event.crew === 'claims')
  go()
  await worker.stop()
})

test('a worker without the keys of its models does not start, and uses up no tries', async () => {
  const crew = claims(memoryStore(), {
    agents: [new Agent({ role: 'Analyst', goal: 'Help', model: 'groq/some-model' })],
  })
  await crew.enqueue({ id: 'a', inputs: { notes: 'x' } })
  await assert.rejects(startWorker([crew]), { code: 'MODEL_KEY_MISSING' })
})

test('a worker claims only the versions that its crew accepts', async () => {
  const store = memoryStore()
  for (const version of ['1', '2', '3']) {
    await claims(store, { version }).enqueue({ id: `of-${version}`, inputs: { notes: 'x' } })
  }
  const events = await workOnce([claims(store, { version: '2', accepts: ['1'] })])
  assert.deepEqual(claimed(events), ['of-1', 'of-2'])
})

test('a worker enqueues the next run of each schedule before it is due', async () => {
  const crew = claims(memoryStore())
  const schedule = await crew.schedule({ name: 'nightly', cron: '0 2 * * *', inputs: { notes: 'x' } })
  const events = await workOnce([crew])
  const [scheduled] = events.filter((event) => event.type === 'scheduled')
  assert.equal(scheduled?.runId, schedule.runId(schedule.next() as Date))
  assert.equal((await crew.run(scheduled?.runId ?? '').view()).status, 'queued')
  assert.deepEqual(claimed(events), [])
  assert.equal((await workOnce([crew])).filter((event) => event.type === 'scheduled').length, 0)
})

test('the name of a worker is shown as the holder of its runs, but gives no claim to them', async () => {
  const store = memoryStore()
  const { crew, hasBegun, go } = slow(store)
  const run = await crew.enqueue({ id: 'a', inputs: { notes: 'a' } })
  const ear = hearing()
  await using worker = await startWorker([crew], { name: 'pod-7', onEvent: ear.onEvent })
  await hasBegun
  const { pid } = process
  const holder = { name: 'pod-7', pid, host: hostname() }
  assert.deepEqual((await run.view()).holder, holder)
  assert.deepEqual((await crew.runs().page())[0]?.holder, holder)
  const other = { ...currentOwner(), instance: 'another', label: 'pod-7' }
  await assert.rejects(store.acquire('a', other, 1_000), {
    code: 'RUN_HELD',
    message: new RegExp(`held by pod-7 \\(process ${pid} on host ${hostname()}\\)`),
  })
  assert.ok(ear.heard[0]?.type === 'started' && ear.heard[0].name === 'pod-7')
  assert.equal(worker.health().name, 'pod-7')
  assert.match(worker.metrics(), /^reprise_worker_info\{name="pod-7"\} 1$/m)
  go()
  await ear.until(({ type }) => type === 'left')
  assert.equal((await run.view()).holder, undefined)
  const resumed = (await entriesOf(store, 'a')).find((entry) => entry.type === 'run.resumed')
  assert.equal(resumed && describeEntry(resumed), `resumed by pod-7, process ${pid}`)
})

test('startWorker refuses invalid crews and options before it starts', async () => {
  const store = memoryStore()
  await assert.rejects(startWorker([]), /the list of crews is empty; pass at least one/)
  await assert.rejects(
    startWorker(claims(store) as never),
    /the first argument of startWorker is .*; give a list of crews/,
  )
  await assert.rejects(
    startWorker([claims(store)], { port: 0, host: '192.0.2.1' }),
    /cannot serve health and metrics on port 0 of 192\.0\.2\.1: .*; choose another port or host/,
  )
  await assert.rejects(startWorker([claims(store)], { concurrency: 0 }), /concurrency is 0; give a whole number/)
  for (const name of ['', ' ', ' a', 'a\nb', 'a\u001B[2Jb', 'a\u2028b', '\u202Eb', 'x'.repeat(101), 7 as never])
    await assert.rejects(
      startWorker([claims(store)], { name }),
      /name is .*; give a name of 1 to 100 characters, without/s,
    )
  await assert.rejects(startWorker([claims(store)], { graceSecond: 1 } as never), { code: 'OPTION_UNKNOWN' })
  await assert.rejects(startWorker([claims(store), claims(store)]), /two crews named claims keep their runs/)
  const [one, other] = [claims(store), slow(store).crew]
  for (const crew of [one, other]) await crew.schedule({ name: 'nightly', cron: '@daily', inputs: { notes: 'x' } })
  await assert.rejects(startWorker([one, other]), /claims and slow both have a schedule nightly/)
})
