// Workers retry a failed run as its crew says, a restarted process continues every ready run, and an imported run is
// left alone.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, type CrewOptions } from 'reprise'
import { advance, type AdvanceOutcome, resumeAll } from '../../../src/crew/verbs/advance.ts'
import { crewLanes } from '../../../src/read/lanes.ts'
import { queueRun } from '../../../src/engine/run/create-run.ts'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { dyingStore, entriesOf, newStore, ofGoneProcess, orDeath, refusal, stateOf } from '../../engine/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { fakeTime, type FakeTime } from './fake-time.ts'

const quiet = { info() {}, warn() {} }
const nobody = { host: 'h', boot: '', pid: 1, start: '', instance: 'i' }

/** `one` and `two`, which fails `times` times and is retried three times. */
function failing(time: FakeTime, times: number, options: Partial<CrewOptions> = {}) {
  let left = times
  const one = new Task({ name: 'one', description: 'One', version: '1', effect: 'read', run: () => 'first' })
  const two = new Task({
    name: 'two',
    description: 'Two',
    version: '1',
    effect: 'read',
    run: () => {
      if (left-- > 0) throw new Error('no power')
      return 'second'
    },
  })
  const retries = { times: 3, backoff: 10 }
  const crew = new Crew({ name: 'failing', tasks: [one, two], store: time.store, logger: quiet, retries, ...options })
  return crew
}

async function queued(crew: Crew, time: FakeTime, run = 'r', more: object = {}): Promise<void> {
  const open = time.open(crew)
  assert.ok(await queueRun(await open.engine(), open.definition, { run, inputs: {}, ...more }))
}

const secondsUntil = (time: FakeTime, outcome: AdvanceOutcome): number | undefined =>
  outcome.status === 'failed' && outcome.retryAt !== undefined ? (outcome.retryAt - time.now) / 1000 : undefined

const claimed = (time: FakeTime, crew: Crew) =>
  time.store.claim(nobody, 1, crewLanes(crew['~definition']({})), { limit: 9 })

describe('a failed run', () => {
  test('is retried after the backoff, which doubles, up to the limit', async () => {
    const time = fakeTime()
    const crew = failing(time, 9)
    await queued(crew, time)
    const waited: (number | undefined)[] = []
    for (let tries = 0; tries < 4; tries++) {
      const outcome = await advance(time.open(crew), 'r')
      assert.equal(outcome.status, 'failed')
      waited.push(secondsUntil(time, outcome))
      time.now += (waited.at(-1) ?? 0) * 1000
    }
    assert.deepEqual(waited, [10, 20, 40, undefined])
    time.now += 86_400_000
    assert.deepEqual(await claimed(time, crew), [])
  })

  test('is not touched before its time, and ready for workers then', async () => {
    const time = fakeTime()
    const crew = failing(time, 1)
    await queued(crew, time)
    const failed = await advance(time.open(crew), 'r')
    const before = (await entriesOf(time.store, 'r')).length
    time.now += 9_999
    const looked = await advance(time.open(crew), 'r')
    assert.deepEqual(
      [looked.status, 'retryAt' in looked && looked.retryAt],
      ['failed', 'retryAt' in failed && failed.retryAt],
    )
    assert.equal((await entriesOf(time.store, 'r')).length, before)
    assert.deepEqual(await claimed(time, crew), [])
    time.now += 1
    const [lease] = await claimed(time, crew)
    assert.deepEqual(await advance(time.open(crew), 'r', { lease }), { status: 'completed' })
  })

  test('rejects the kickoff, and its view says when it is retried', async () => {
    const time = fakeTime()
    const crew = failing(time, 1)
    const open = time.open(crew)
    assert.equal((await refusal(() => crew.kickoff({ id: 'r' }))).code, 'TASK_FAILED')
    const { status, why, dueAt } = await crew.run('r').view()
    assert.equal(status, 'failed')
    assert.equal(why, `no power; a worker tries again at ${dueAt}`)
    const [summary] = await crew.runs().page(1)
    assert.deepEqual([summary?.why, summary?.dueAt], [why, dueAt])
    time.now = Date.parse(dueAt as string)
    assert.deepEqual(await advance(open, 'r'), { status: 'completed' })
  })

  test('resets its count of failures once a task is done', async () => {
    const time = fakeTime()
    const failed = new Set<string>()
    const tasks = ['one', 'two', 'three'].map((name) => {
      const run = (): string => {
        if (!failed.has(name)) throw new Error(failed.add(name) && 'no power')
        return name
      }
      return new Task({ name, description: name, version: '1', effect: 'read', run })
    })
    const crew = failing(time, 0, { tasks, retries: { times: 1, backoff: 1 } })
    await queued(crew, time)
    for (const _ of tasks) {
      assert.equal(secondsUntil(time, await advance(time.open(crew), 'r')), 1)
      time.now += 1_000
    }
    assert.equal((await advance(time.open(crew), 'r')).status, 'completed')
  })

  for (const depth of [1, 2]) {
    test(`resets its count of failures once a task is done in a crew ${depth === 1 ? 'inside it' : 'two levels down'}`, async () => {
      const time = fakeTime()
      const failures = new Map<string, number>()
      const tasks = ['one', 'two', 'three'].map((name) => {
        const run = (): string => {
          const times = failures.get(name) ?? 0
          failures.set(name, times + 1)
          // the last more often than it is tried
          if (times === 0 || name === 'three') throw new Error('no power')
          return name
        }
        return new Task({ name, description: name, version: '1', effect: 'read', run })
      })
      const around = (within: Crew): Task => new Task({ name: 'within', crew: within })
      let crew = failing(time, 0, { name: 'deep', tasks })
      if (depth === 2) crew = failing(time, 0, { name: 'mid', tasks: [around(crew)] })
      crew = failing(time, 0, { tasks: [around(crew)], retries: { times: 1, backoff: 1 } })
      await queued(crew, time)
      const waited: (number | undefined)[] = []
      for (let tries = 0; tries < 4; tries++) {
        waited.push(secondsUntil(time, await advance(time.open(crew), 'r')))
        time.now += 1_000
      }
      assert.deepEqual(waited, [1, 1, 1, undefined])
      assert.deepEqual([...failures.values()], [2, 2, 2])
    })
  }

  test('is left alone if a retry cannot help, or a person wanted it to fail', async () => {
    const time = fakeTime()
    const model = scriptedModel([{ when: 'Task:', reply: 'an answer' }])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const task = new Task({ name: 'ask', description: 'Ask', agent, humanInput: true })
    const retries = { times: 3 }
    const inner = new Crew({ name: 'inner', tasks: [task], store: time.store, logger: quiet })
    const crew = new Crew({
      name: 'asking',
      tasks: [new Task({ name: 'in', crew: inner })],
      store: time.store,
      logger: quiet,
      retries,
    }) as Crew
    await queued(crew, time)
    await advance(time.open(crew), 'r')
    await crew.run('r').answer('in/q1', { decision: 'fail', reason: 'no' })
    const outcome = await advance(time.open(crew), 'r')
    assert.deepEqual([outcome.status, secondsUntil(time, outcome)], ['failed', undefined])

    const endless = scriptedModel([{ when: 'Task:', calls: [{ tool: 'none', input: {} }], repeat: true }])
    const worker = new Agent({ role: 'B', goal: 'g', model: endless, maxIterations: 2 })
    const loop = new Crew({
      name: 'endless',
      tasks: [new Task({ name: 'loop', description: 'Loop', agent: worker })],
      store: time.store,
      logger: quiet,
      retries,
    }) as Crew
    await queued(loop, time, 'l')
    const exhausted = await advance(time.open(loop), 'l')
    assert.equal(exhausted.status === 'failed' && exhausted.error.code, 'ITERATIONS_EXHAUSTED')
    assert.equal(secondsUntil(time, exhausted), undefined)
  })

  test('refuses invalid retries', async () => {
    const time = fakeTime()
    const refused = async (retries: unknown) =>
      (await refusal(() => failing(time, 1, { retries: retries as never }))).message
    assert.match(await refused({ times: 0 }), /times of retries of crew "failing" is 0; give a whole number from 1/)
    assert.match(
      await refused({ times: 1, backoff: 4_000 }),
      /backoff of retries .* is 4000; give a number from 0 to 3600/,
    )
    assert.match(await refused({ time: 1 }), /did you mean times/)
    assert.match(
      (await refusal(() => failing(time, 1, { accepts: [2] as never }))).message,
      /item 1 of accepts .* is 2/,
    )
  })
})

describe('resumeAll of a restarted process', () => {
  test('continues every ready run of its crew and versions, and returns each outcome', async () => {
    const time = fakeTime()
    const crew = failing(time, 1, { version: '2', accepts: ['1'] })
    await queued(failing(time, 0, { version: '1' }), time, 'old')
    time.now += 1
    await queued(crew, time, 'urgent', { priority: 1 })
    await queued(crew, time, 'later', { notBefore: new Date(time.now + 1_000) })
    await queued(failing(time, 0, { version: '0' }), time, 'older')
    await queued(failing(time, 0, { name: 'another' }), time, 'foreign')
    const came = await resumeAll(time.open(crew), { concurrency: 1 })
    assert.deepEqual(
      came.map(({ runId, status }) => [runId, status]),
      [
        ['urgent', 'failed'],
        ['old', 'completed'],
      ],
    )
    time.now += 10_000
    const again = await resumeAll(time.open(crew))
    assert.deepEqual(again.map(({ runId, status }) => `${runId} ${status}`).toSorted(), [
      'later completed',
      'urgent completed',
    ])
    assert.deepEqual(await resumeAll(time.open(crew)), [])
  })

  test('gives the reason for a run that it cannot continue, and continues the others', async () => {
    const time = fakeTime()
    const agent = new Agent({ role: 'A', goal: 'g', model: 'unknown/nothing' })
    const lacking = new Crew({
      name: 'failing',
      tasks: [new Task({ name: 'one', description: 'One', agent })],
      store: time.store,
      logger: quiet,
    }) as Crew
    await queued(failing(time, 0), time)
    const [came] = await resumeAll(time.open(lacking))
    assert.equal(came?.status === 'failed' && came.error.code, 'MODEL_INVALID')
    assert.equal((await stateOf(time.store, 'r')).status, 'queued')
    assert.equal(await time.store.holder('r'), undefined)
  })

  test('starts nothing after its signal or its time', async () => {
    const time = fakeTime()
    const crew = failing(time, 0)
    await queued(crew, time)
    assert.deepEqual(await resumeAll(time.open(crew), { signal: AbortSignal.abort() }), [])
    assert.deepEqual(await resumeAll(time.open(crew), { until: time.now }), [])
  })
})

describe('an imported run', () => {
  test('is continued only by a person, and the same file is the same run', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'r.jsonl')
    const time = fakeTime()
    const source = failing(time, 0)
    await queued(source, time, 'q')
    await source.run('q').export(file)
    const crew = source.with({ store: memoryStore({ url: 'memory:imported' }) })
    assert.equal((await crew.import(file)).existed, false)
    assert.equal((await crew.import(file)).existed, true)
    assert.deepEqual(await crew.resumeAll(), [])
    assert.deepEqual(await crew.advance('q'), { status: 'waiting' })
    assert.equal((await crew.run('q').view()).why, 'it was imported, and workers leave imported runs alone')
    assert.equal((await refusal(() => crew.run('q').result())).code, 'RUN_ABANDONED')
    const second = join(folder.path, 'again.jsonl')
    await crew.run('q').export(second)
    assert.equal((await crew.import(second)).existed, true)
    assert.equal((await crew.import(second, { as: 'copy' })).existed, false)
    assert.deepEqual(await crew.advance('copy'), { status: 'waiting' })
    await crew.resume('q')
    assert.equal((await refusal(() => crew.import(file))).code, 'RUN_EXISTS')
  })

  test('that had ended is imported unchanged', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'r.jsonl')
    const source = failing(fakeTime(), 0)
    await source.kickoff({ id: 'r' })
    await source.run('r').export(file)
    const store = newStore()
    await source.with({ store }).import(file)
    assert.equal((await entriesOf(store, 'r')).at(-1)?.type, 'run.completed')
  })
})

describe('a run whose processes die', () => {
  /** The root dies with each step of its crew. */
  async function dieOften(store = newStore()) {
    const model = scriptedModel([{ when: 'Task:', reply: 'done' }])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const tasks = Array.from({ length: 8 }, (_, at) => new Task({ name: `t${at}`, description: `T${at}`, agent }))
    const crewOn = (place: typeof store): Crew => {
      const inner = new Crew({ name: 'inner', tasks, store: place, logger: quiet })
      return new Crew({
        name: 'outer',
        tasks: [new Task({ name: 'in', crew: inner })],
        store: place,
        logger: quiet,
      })
    }
    const dying = () => crewOn(dyingStore(ofGoneProcess(store), (types) => types.includes('model.replied')))
    await orDeath(dying().kickoff({ id: 'r' }))
    return { crewOn, dying, store }
  }

  test('is not parked while a nested crew gets further in every life', async () => {
    const { dying, store } = await dieOften()
    for (let life = 2; life <= 8; life++) await orDeath(dying().resume('r'))
    assert.equal((await stateOf(store, 'r')).fruitless, 7)
    assert.equal((await stateOf(store, 'r')).status, 'running')
  })

  test('is parked if its nested crew does not either', async () => {
    const { crewOn, store } = await dieOften()
    for (let life = 2; life <= 7; life++) {
      let resumed = 0
      // that of the root, then that of the crew
      const dead = dyingStore(ofGoneProcess(store), (types) => types.includes('run.resumed') && ++resumed === 2)
      await orDeath(crewOn(dead).resume('r'))
    }
    assert.deepEqual((await stateOf(store, 'r')).suspended, { reason: 'takeovers' })
  })
})
