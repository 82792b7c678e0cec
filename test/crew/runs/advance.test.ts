// A run advanced in slices by any process: no paid work is lost, and each reason not to advance has its own result.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool, type CrewOptions } from 'reprise'
import { z } from 'zod'
import { advance, type AdvanceOutcome, type AdvanceOptions } from '../../../src/crew/verbs/advance.ts'
import { crewLanes } from '../../../src/read/lanes.ts'
import { queueRun } from '../../../src/engine/run/create-run.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { entriesOf, refusal, stateOf } from '../../engine/support.ts'
import { fakeTime, type FakeTime } from './fake-time.ts'

const quiet = { info() {}, warn() {} }

interface Scene {
  readonly time?: FakeTime
  /** How long a model call takes. */
  readonly ms?: number
  readonly options?: Partial<CrewOptions>
}

/** `count` tasks of three model calls each: two look something up first. */
function looking({ time = fakeTime(), ms = 60, options }: Scene = {}, count = 9) {
  const looked: string[] = []
  const lookup = tool({
    name: 'lookup',
    description: 'Look up',
    input: z.object({ at: z.number() }),
    effect: 'read',
    run: ({ at }) => `found ${looked.push(`${at}`)}`,
  })
  const script = scriptedModel([
    { when: 'Task:', after: 0, calls: [{ tool: 'lookup', input: { at: 0 } }] },
    { when: 'Task:', after: 1, calls: [{ tool: 'lookup', input: { at: 1 } }] },
    { when: 'Task:', reply: (text) => `${/Task: (\w+)/.exec(text)?.[1]} done` },
  ])
  const model: typeof script = {
    ...script,
    doGenerate: async (request) => {
      time.now += ms
      return script.doGenerate(request)
    },
  }
  const agent = new Agent({ role: 'A', goal: 'g', model, tools: [lookup] })
  const tasks = Array.from({ length: count }, (_, at) => new Task({ name: `t${at}`, description: `T${at}`, agent }))
  const crew = new Crew({ name: 'looking', tasks, store: time.store, logger: quiet, ...options })
  return { crew, time, calls: script.calls, looked, store: time.store }
}

async function queued({ crew, time }: { crew: Crew; time: FakeTime }, run = 'r', more: object = {}): Promise<void> {
  const open = time.open(crew)
  assert.ok(await queueRun(await open.engine(), open.definition, { run, inputs: {}, ...more }))
}

/** Each slice by a process of its own. */
async function inSlices(crew: Crew, time: FakeTime, ms: number): Promise<AdvanceOutcome[]> {
  const outcomes: AdvanceOutcome[] = []
  while (outcomes.length < 100) {
    const outcome = await advance(time.open(crew), 'r', { until: time.now + ms })
    outcomes.push(outcome)
    if (outcome.status !== 'more') break
  }
  return outcomes
}

const advanceOnce = (crew: Crew, time: FakeTime, options?: AdvanceOptions): Promise<AdvanceOutcome> =>
  advance(time.open(crew), 'r', options)

describe('a run in slices', () => {
  for (const ms of [1, 100, 1_000])
    test(`makes 27 model calls in slices of ${ms} ms, and as many lookups as without`, async () => {
      const { crew, time, calls, looked, store } = looking()
      await queued({ crew, time })
      const outcomes = await inSlices(crew, time, ms)
      assert.deepEqual(outcomes.at(-1), { status: 'completed' })
      assert.equal(calls.length, 27)
      assert.equal(looked.length, 18)
      const state = await stateOf(store, 'r')
      assert.equal(state.lives, outcomes.length)
      assert.equal(state.fruitless, 0)
    })

  test('gets at least one step further in each slice, however short', async () => {
    const { crew, time, store } = looking({}, 1)
    await queued({ crew, time })
    const outcomes = await inSlices(crew, time, 0)
    // three model calls and two lookups
    assert.equal(outcomes.length, 5)
    const types = (await entriesOf(store, 'r')).map((entry) => entry.type)
    assert.equal(types.filter((type) => type === 'run.yielded').length, 4)
  })

  test('ends the steps of parallel tasks before a slice ends', async () => {
    const { crew, time, calls } = looking({ options: { process: 'parallel', concurrency: 3 } }, 9)
    await queued({ crew, time })
    const outcomes = await inSlices(crew, time, 100)
    assert.equal(outcomes.at(-1)?.status, 'completed')
    assert.ok(outcomes.length > 5)
    assert.equal(calls.length, 27)
  })

  test('yields within a nested crew, whose steps count as well', async () => {
    const time = fakeTime()
    const { crew: inner, calls } = looking({ time }, 2)
    const crew = new Crew({
      name: 'outer',
      tasks: [new Task({ name: 'first', crew: inner }), new Task({ name: 'second', crew: inner })],
      store: time.store,
      logger: quiet,
    }) as Crew
    await queued({ crew, time })
    const outcomes = await inSlices(crew, time, 0)
    assert.equal(outcomes.at(-1)?.status, 'completed')
    assert.equal(outcomes.length, 20)
    assert.equal(calls.length, 12)
    const child = (await entriesOf(time.store, 'r/first#1')).map((entry) => entry.type)
    assert.equal(child.filter((type) => type === 'run.yielded').length, 9)
  })

  test('ends a slice if the wait for requests per minute is longer', async () => {
    const { crew, time, calls } = looking({ options: { maxRpm: 1 } }, 1)
    await queued({ crew, time })
    const start = time.now
    assert.deepEqual(await advanceOnce(crew, time, { until: start + 30_000 }), { status: 'more' })
    assert.ok(time.now < start + 30_000)
    assert.equal(calls.length, 1)
    // the next one has to wait: a slice gets the run further
    assert.deepEqual(await advanceOnce(crew, time, { until: start + 30_000 }), { status: 'more' })
    assert.equal(calls.length, 2)
  })

  test('is completed if its last step ends after the time', async () => {
    const time = fakeTime()
    const one = looking({ time }, 1)
    await queued(one)
    let last: AdvanceOutcome | undefined
    for (let slice = 0; slice < 5; slice++) last = await advanceOnce(one.crew, time, { until: 0 })
    assert.deepEqual(last, { status: 'completed' })
  })
})

describe('advance returns', () => {
  test('ended for a completed or cancelled run, and writes nothing', async () => {
    const { crew, time, store } = looking({}, 1)
    await crew.kickoff({ id: 'r' })
    const before = (await entriesOf(store, 'r')).length
    assert.deepEqual(await advanceOnce(crew, time), { status: 'completed' })
    assert.equal((await entriesOf(store, 'r')).length, before)
    await queued({ crew, time }, 'c')
    await crew.run('c').cancel()
    assert.deepEqual(await advance(time.open(crew), 'c'), { status: 'cancelled' })
  })

  test('ended if the run is cancelled meanwhile', async () => {
    const { crew, time } = looking({}, 2)
    await queued({ crew, time })
    const cancelling = new Crew({
      name: 'looking',
      tasks: crew.tasks,
      store: time.store,
      logger: quiet,
      onStep: () => void crew.run('r').cancel(),
    })
    assert.deepEqual(await advanceOnce(cancelling, time), { status: 'cancelled' })
  })

  test('waiting with the time of a queued run that is due later', async () => {
    const { crew, time, calls, store } = looking({}, 1)
    const at = time.now + 60_000
    await queued({ crew, time }, 'r', { notBefore: new Date(at) })
    assert.deepEqual(await advanceOnce(crew, time), { status: 'waiting', at })
    assert.equal((await entriesOf(store, 'r')).length, 1)
    assert.equal(calls.length, 0)
    time.now = at
    assert.deepEqual(await advanceOnce(crew, time), { status: 'completed' })
  })

  test('waiting for an answer, which the next call records before it continues', async () => {
    const time = fakeTime()
    const { crew, store } = asking(time)
    await queued({ crew, time })
    assert.deepEqual(await advanceOnce(crew, time), { status: 'waiting' })
    const before = (await entriesOf(store, 'r')).length
    assert.deepEqual(await advanceOnce(crew, time), { status: 'waiting' })
    assert.equal((await entriesOf(store, 'r')).length, before)
    await crew.run('r').answer('q1', { decision: 'approve' })
    assert.deepEqual(await advanceOnce(crew, time), { status: 'completed' })
  })

  test('after it records an answer from the inbox, for a nested crew too', async () => {
    const time = fakeTime()
    const { crew: inner } = asking(time)
    const crew = new Crew({
      name: 'outer',
      tasks: [new Task({ name: 'in', crew: inner })],
      store: time.store,
      logger: quiet,
    })
    await queued({ crew: crew, time })
    assert.deepEqual(await advanceOnce(crew as Crew, time), { status: 'waiting' })
    // another process holds the run when the answer arrives
    const lease = await time.store.acquire('r', { host: 'h', boot: '', pid: 1, start: '', instance: 'i' }, 1_000)
    await crew.run('r').answer('in/q1', { decision: 'approve' })
    await time.store.release(lease)
    const [claimed] = await time.store.claim(lease.owner, 1_000, crewLanes(crew['~definition']({})), { limit: 1 })
    assert.ok(claimed)
    assert.deepEqual(await advanceOnce(crew as Crew, time, { lease: claimed }), { status: 'completed' })
  })

  test('waiting for a run that a person stopped or that stops after a task, which only a resume continues', async () => {
    const { crew, time, store } = looking({}, 2)
    await crew.kickoff({ id: 'r', through: 't0' })
    assert.deepEqual(await advanceOnce(crew, time), { status: 'waiting' })
    await crew.kickoff({ id: 's', signal: AbortSignal.abort() })
    assert.deepEqual(await advance(time.open(crew), 's'), { status: 'waiting' })
    await crew.run('s').edit('t0', 'by hand')
    assert.deepEqual(await advance(time.open(crew), 's'), { status: 'waiting' })
    assert.equal((await stateOf(store, 's')).status, 'suspended')
  })

  test('after the task that the previous holder was to stop at', async () => {
    const { crew, time, store } = looking({}, 3)
    await queued({ crew, time }, 'r', { through: 't1' })
    const outcomes = await inSlices(crew, time, 1)
    assert.deepEqual(outcomes.at(-1), { status: 'waiting' })
    const state = await stateOf(store, 'r')
    assert.deepEqual(state.suspended, { reason: 'through', through: 't1' })
    assert.equal((await crew.resume('r')).status, 'completed')
  })

  test('held until the lease of another process ends', async () => {
    const { crew, time, store } = looking({}, 1)
    await queued({ crew, time })
    await store.acquire('r', { host: 'h', boot: '', pid: 1, start: '', instance: 'i' }, 5_000)
    const until = time.now + 5_000
    assert.deepEqual(await advanceOnce(crew, time), { status: 'held', until })
    time.now = until
    assert.deepEqual(await advanceOnce(crew, time), { status: 'completed' })
  })

  test('held for a run that another call of this process executes', async () => {
    const time = fakeTime()
    const { crew } = looking({ time }, 1)
    await queued({ crew, time })
    const open = time.open(crew)
    const both = await Promise.all([advance(open, 'r'), advance(open, 'r')])
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['completed', 'held'])
  })

  test('other for a run of another crew or of an unaccepted version', async () => {
    const time = fakeTime()
    const { crew: first, calls } = looking({ time, options: { version: '1' } }, 1)
    const { crew: second } = looking({ time, options: { version: '2' } }, 1)
    const { crew: stranger } = looking({ time, options: { name: 'stranger', version: '1' } }, 1)
    await queued({ crew: first, time })
    for (const crew of [second, stranger])
      assert.deepEqual(await advanceOnce(crew, time), { status: 'other', crew: 'looking', version: '1' })
    assert.equal(calls.length, 0)
  })

  test('with a claimed lease released, whatever the outcome', async () => {
    const time = fakeTime()
    const { crew, store } = looking({ time, options: { version: '1' } }, 1)
    const { crew: second } = looking({ time, options: { version: '2' } }, 1)
    await queued({ crew, time })
    const { owner } = (await time.open(crew).engine()).world
    const claim = async () => (await store.claim(owner, 1_000, crewLanes(crew['~definition']({})), { limit: 1 }))[0]
    assert.equal((await advanceOnce(second, time, { lease: await claim() })).status, 'other')
    assert.equal(await store.holder('r'), undefined)
    assert.equal((await advanceOnce(crew, time, { lease: await claim(), signal: AbortSignal.abort() })).status, 'more')
    assert.equal(await store.holder('r'), undefined)
    time.now += 1_000
    assert.equal((await advanceOnce(crew, time, { lease: await claim() })).status, 'completed')
    assert.equal(await store.holder('r'), undefined)
  })

  test('on time: a claimed lease counts from when it was given, however slowly the store responds', async () => {
    const holders: unknown[] = []
    const time = fakeTime()
    const { crew, store } = looking(
      { time, ms: 6_000, options: { onStep: async () => void holders.push(await store.holder('r')) } },
      1,
    )
    await queued({ crew, time })
    const { owner, leaseMs } = (await time.open(crew).engine()).world
    const [lease] = await store.claim(owner, leaseMs, crewLanes(crew['~definition']({})), { limit: 1 })
    const { row } = store
    Object.assign(store, {
      row(run: string) {
        Object.assign(store, { row })
        time.now += leaseMs - 5_000
        return row(run)
      },
    })
    assert.equal((await advanceOnce(crew, time, { lease })).status, 'completed')
    assert.deepEqual(holders, [owner, owner, owner, owner, owner])
  })

  test('with the owner as a name for people, which proves nothing', async () => {
    const time = fakeTime()
    const { crew, store } = looking({ time }, 1)
    await queued({ crew, time })
    const { owner } = (await time.open(crew).engine()).world
    await advanceOnce(crew, time, { owner: 'cron' })
    const resumed = (await entriesOf(store, 'r')).find((entry) => entry.type === 'run.resumed')
    assert.deepEqual(resumed?.owner, { ...owner, label: 'cron' })
  })

  test('an error for an unknown run, an invalid time and the lease of another run', async () => {
    const { crew, time } = looking({}, 1)
    await queued({ crew, time })
    assert.equal((await refusal(() => crew.advance('missing'))).code, 'RUN_NOT_FOUND')
    assert.match((await refusal(() => crew.advance('r', { until: Number.NaN }))).message, /until is NaN; give a Date/)
    assert.match((await refusal(() => crew.advance('r', { untill: 1 } as never))).message, /did you mean until/)
    const lease = await time.store.acquire('r', { host: 'h', boot: '', pid: 1, start: '', instance: 'i' }, 5)
    assert.match((await refusal(() => crew.advance('x', { lease }))).message, /the lease of run x/)
  })
})

describe('a hard stop', () => {
  test('leaves the run to the next process, which repeats the interrupted work', async () => {
    const time = fakeTime()
    const stop = new AbortController()
    const { crew, store } = looking({ time, options: { onStep: () => stop.abort() } }, 2)
    await queued({ crew, time })
    assert.deepEqual(await advanceOnce(crew, time, { signal: stop.signal }), { status: 'more' })
    const state = await stateOf(store, 'r')
    assert.equal(state.status, 'queued')
    assert.equal((await entriesOf(store, 'r')).at(-1)?.type, 'run.yielded')
    const { crew: again } = looking({ time }, 2)
    assert.deepEqual(await advanceOnce(again, time), { status: 'completed' })
  })

  test('of a kickoff suspends the run, and no worker continues it', async () => {
    const time = fakeTime()
    const stop = new AbortController()
    const { crew, store } = looking({ time, options: { onStep: () => stop.abort() } }, 2)
    await crew.kickoff({ id: 'r', signal: stop.signal })
    assert.deepEqual((await stateOf(store, 'r')).suspended, { reason: 'stopped' })
    assert.deepEqual(
      await store.claim((await time.open(crew).engine()).world.owner, 1, crewLanes(crew['~definition']({})), {
        limit: 9,
      }),
      [],
    )
  })
})

describe('accepted versions:', () => {
  test('a crew continues runs of the versions that it accepts, under its own version', async () => {
    const time = fakeTime()
    const { crew: first } = looking({ time, options: { version: '1' } }, 2)
    const { crew: second } = looking({ time, options: { version: '2', accepts: ['1'] } }, 2)
    await queued({ crew: first, time })
    assert.deepEqual(await advanceOnce(first, time, { until: 0 }), { status: 'more' })
    assert.deepEqual(await advanceOnce(second, time, { until: 0 }), { status: 'more' })
    assert.equal((await time.store.row('r'))?.version, '2')
    assert.deepEqual(await advanceOnce(first, time), { status: 'other', crew: 'looking', version: '2' })
    assert.deepEqual(await advanceOnce(second, time), { status: 'completed' })
  })

  test('a resume by a person continues any version', async () => {
    const time = fakeTime()
    const { crew: first } = looking({ time, options: { version: '1' } }, 2)
    const { crew: second } = looking({ time, options: { version: '2' } }, 2)
    await first.kickoff({ id: 'r', through: 't0' })
    await second.resume('r')
    assert.equal((await time.store.row('r'))?.version, '2')
  })
})

describe('a run that waits for a worker', () => {
  test('resolves with its result once a worker has executed it', async () => {
    const { crew, time } = looking({}, 1)
    await queued({ crew, time })
    const result = crew.run('r').result()
    const events = Array.fromAsync(crew.run('r').events())
    for (const _ of [1, 2]) assert.equal((await advanceOnce(crew, time, { until: 0 })).status, 'more')
    await advanceOnce(crew, time)
    assert.equal((await result).raw, 'T0 done')
    assert.equal((await events).at(-1)?.type, 'run.completed')
  })

  test('is started at once by a resume, of the latest run too', async () => {
    const { crew, time } = looking({}, 1)
    await queued({ crew, time }, 'r', { notBefore: new Date(time.now + 60_000) })
    assert.equal((await crew.resume()).runId, 'r')
  })

  test('says so, and when a worker may start it', async () => {
    const { crew, time } = looking({}, 1)
    await queued({ crew, time })
    await queued({ crew, time }, 'later', { notBefore: new Date(time.now + 60_000) })
    const { status, why, dueAt } = await crew.run('later').view()
    assert.deepEqual(
      [status, why, dueAt],
      ['queued', `no worker starts it before ${dueAt}`, '2026-03-01T09:01:00.000Z'],
    )
    assert.equal((await crew.run('r').view()).why, 'it waits for a worker')
  })
})

/** One task whose answer a person approves. */
function asking(time: FakeTime) {
  const model = scriptedModel([{ when: 'Task:', reply: 'an answer' }])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const tasks = [new Task({ name: 'ask', description: 'Ask', agent, humanInput: true })]
  const crew = new Crew({ name: 'asking', tasks, store: time.store, logger: quiet }) as Crew
  return { crew, store: time.store }
}
