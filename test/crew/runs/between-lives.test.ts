// People and other calls act on a run between two of its lives: no accepted message is lost, and no step is repeated.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { entriesOf, newStore, refusal } from '../../engine/support.ts'

const model = scriptedModel([
  { when: 'One', reply: 'one' },
  { when: 'Two', reply: 'two' },
])
const agent = new Agent({ role: 'A', goal: 'g', model })
const quiet = { info() {}, warn() {} }
const ask = (name: string): Task =>
  new Task({ name, description: name === 'one' ? 'One' : 'Two', agent, context: [], humanInput: true })

function asking(store: Store = newStore(), tasks: readonly Task[] = [ask('one')]): Crew {
  return new Crew({ name: 'asking', tasks: [...tasks], process: 'parallel', store, logger: quiet })
}

/** So many turns of the queue of promises. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve()
}

const codeOf = (error: unknown): string => (error as { code: string }).code

test('an accepted cancellation is in the journal even if the run is being suspended', async () => {
  for (let count = 0; count < 200; count++) {
    await using crew = asking()
    const run = crew.run('r')
    let cancelled: Promise<string> | undefined
    const onQuestion = (): undefined => {
      cancelled = turns(count).then(() => run.cancel().then(() => 'done', codeOf))
    }
    const ended = await crew.kickoff({ id: 'r', onQuestion }).then(({ status }) => status, codeOf)
    assert.equal(await cancelled, 'done')
    assert.equal((await run.view()).status, 'cancelled', `after ${count} turns; the kickoff said ${ended}`)
  }
})

describe('while onPlan of a resume decides,', () => {
  test('a cancellation and an answer are recorded, even if it refuses', async () => {
    await using crew = asking()
    for (const [id, act] of [
      ['c', () => crew.run('c').cancel()],
      ['a', () => crew.run('a').answer('q1', { decision: 'approve' })],
    ] as const) {
      await crew.kickoff({ id })
      const onPlan = async (): Promise<boolean> => (await act(), false)
      assert.equal((await refusal(() => crew.resume(id, { onPlan }))).code, 'PLAN_REFUSED')
    }
    assert.equal((await crew.run('c').view()).status, 'cancelled')
    assert.deepEqual((await crew.run('a').view()).questions, [])
  })

  test('a resume that came meanwhile keeps the run after a refusal', async () => {
    for (let count = 0; count < 80; count++) {
      const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
      const zero = new Task({ name: 'zero', effect: 'read', run: () => 'zero' })
      const slow = new Task({ name: 'slow', effect: 'read', run: () => held.then(() => 'slow') })
      await using crew = new Crew({ name: 'c', tasks: [zero, slow], store: newStore(), logger: quiet })
      await crew.kickoff({ id: 'r', through: 'zero' })
      let second: Promise<string> | undefined
      const onPlan = (): boolean => {
        second = turns(count).then(() => crew.resume('r').then(({ status }) => status, codeOf))
        return false
      }
      await refusal(() => crew.resume('r', { onPlan }))
      await turns(50)
      const third = crew.resume('r').then(({ status }) => status, codeOf)
      await turns(50)
      letGo()
      const ends = [await second, await third]
      assert.ok(ends.includes('RUN_HELD'), `after ${count} turns: ${ends.join()}`)
      assert.ok(!ends.includes('LEASE_LOST'), `after ${count} turns: ${ends.join()}`)
    }
  })

  test('the progress of a parent reaches its fork: a once call asks first', async () => {
    const store = newStore()
    let paid = 0
    const { promise: firstPaid, resolve: pays } = Promise.withResolvers<void>()
    const { promise: hangs } = Promise.withResolvers<never>()
    const pay = tool({
      name: 'pay',
      description: 'd',
      input: z.object({}),
      run: () => (pays(), paid++ === 0 ? hangs : 'paid'),
    })
    const { promise: planned, resolve: goOn } = Promise.withResolvers<void>()
    const script = scriptedModel([
      { when: 'Pay', calls: [{ tool: 'pay', input: {} }] },
      { when: 'Pay', reply: 'done' },
    ])
    const patient: typeof script = {
      ...script,
      doGenerate: async (request) => (await planned, script.doGenerate(request)),
    }
    const tasksOf = (payer: typeof script): [Task] => [
      new Task({
        name: 'pay',
        description: 'Pay',
        agent: new Agent({ role: 'A', goal: 'g', model: payer }),
        tools: [pay],
      }),
    ]
    // as of a process that is gone by the time the fork is made
    const gone = new Proxy(store, {
      get: (target, key) => (key === 'holder' ? async () => undefined : own(target, key)),
    })
    const first = new Crew({ name: 'c', tasks: tasksOf(patient), store, logger: quiet })
    void first.kickoff({ id: 'r' }).catch(() => {})
    while ((await store.row('r').catch(() => undefined)) === undefined) await turns(5)
    await using crew = new Crew({ name: 'c', tasks: tasksOf(script), store: gone, logger: quiet })
    const forked = await crew.fork({
      runId: 'r',
      async onPlan() {
        goOn()
        await firstPaid
        return true
      },
    })
    assert.equal(forked.status, 'suspended')
    assert.equal(paid, 1)
  })

  test('an error that it throws has the code of a callback and names the run', async () => {
    await using crew = asking()
    await crew.kickoff({ id: 'r' })
    const error = await refusal(() =>
      crew.resume('r', {
        onPlan() {
          throw new Error('lost')
        },
      }),
    )
    assert.deepEqual([error.code, error.runId], ['CALLBACK_FAILED', 'r'])
    assert.match(error.message, /onPlan threw: lost/)
  })
})

test('a resume waits while answers are being recorded, however many come', async () => {
  for (let count = 0; count < 60; count += 3) {
    await using crew = asking(newStore(), [ask('one'), ask('two')])
    await crew.kickoff({ id: 'r' })
    const run = crew.run('r')
    const first = run.answer('q1', { decision: 'approve' })
    await turns(count)
    const resumed = run.resume()
    const second = run.answer('q2', { decision: 'approve' })
    await Promise.all([first, second])
    assert.notEqual((await resumed).status, 'failed', `after ${count} turns`)
  }
})

test('a throwing callback stops the tasks in progress as a failing task does', async () => {
  const look = tool({
    name: 'look',
    description: 'd',
    effect: 'read',
    input: z.object({ n: z.number() }),
    run: () => 'seen',
  })
  const looks = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => ({ when: 'Look', calls: [{ tool: 'look', input: { n } }] }))
  const busy = scriptedModel([{ when: 'One', reply: 'one' }, ...looks, { when: 'Look', reply: 'done' }])
  const worker = new Agent({ role: 'A', goal: 'g', model: busy, tools: [look], maxIterations: 30 })
  const fails = new Task({
    name: 'one',
    description: 'One',
    agent: worker,
    callback() {
      throw new Error('no')
    },
  })
  const slow = new Task({ name: 'two', description: 'Look', agent: worker, context: [] })
  await using crew = new Crew({
    name: 'c',
    tasks: [fails, slow],
    process: 'parallel',
    store: newStore(),
    logger: quiet,
  })
  assert.equal((await refusal(() => crew.kickoff())).code, 'CALLBACK_FAILED')
  assert.ok(busy.calls.length < 9, `${busy.calls.length} calls`)
})

test('the result of a run names only the questions of its nested crews that are open when it ends', async () => {
  const inner = new Crew({ name: 'inner', tasks: [ask('one'), ask('two')], process: 'parallel', logger: quiet })
  const { promise: answered, resolve: goOn } = Promise.withResolvers<void>()
  const tasks = [
    new Task({ name: 'kid', crew: inner, context: [] }),
    new Task({ name: 'long', effect: 'read', context: [], run: () => answered.then(() => 'long') }),
  ]
  const store = newStore()
  await using crew = new Crew({ name: 'c', tasks, process: 'parallel', store, logger: quiet })
  const call = crew.kickoff({ id: 'r' })
  const run = await call.started
  while ((await store.row('r/kid#1'))?.status !== 'suspended') await new Promise((resolve) => setImmediate(resolve))
  await run.answer('kid/q1', { decision: 'approve' })
  goOn()
  const { questions } = await call
  assert.deepEqual(
    questions.map(({ id }) => id),
    (await run.view()).questions.map(({ id }) => id),
  )
})

test('a run whose nested crew was cancelled alone says that the task can be executed again, and it can', async () => {
  const inner = new Crew({ name: 'inner', tasks: [ask('one')], logger: quiet })
  const store = newStore()
  await using crew = new Crew({ name: 'c', tasks: [new Task({ name: 'kid', crew: inner })], store, logger: quiet })
  await crew.kickoff({ id: 'r' })
  await using alone = inner.with({ store })
  await alone.run('r/kid#1').cancel()
  const error = await refusal(() => crew.resume('r'))
  assert.deepEqual([error.code, error.next], ['TASK_FAILED', { type: 'invalidate', runId: 'r', task: 'kid' }])
  await crew.run('r').invalidate('kid')
  assert.equal((await crew.resume('r')).status, 'suspended')
})

test('a plan does not warn about calls of a nested crew', async () => {
  const pay = tool({ name: 'pay', description: 'd', input: z.object({}), run: () => 'paid' })
  const payer = scriptedModel([
    { when: 'Pay', calls: [{ tool: 'pay', input: {} }] },
    { when: 'Pay', reply: 'done' },
  ])
  const payout = new Task({
    name: 'payout',
    description: 'Pay',
    agent: new Agent({ role: 'A', goal: 'g', model: payer }),
    tools: [pay],
  })
  const settle = new Task({ name: 'settle', crew: new Crew({ name: 'inner', tasks: [payout] }) })
  await using crew = new Crew({ name: 'c', tasks: [settle], store: newStore(), logger: quiet })
  await crew.kickoff({ id: 'r' })
  assert.deepEqual((await crew.run('r').plan()).warnings, [])
})

test('a cancellation that comes while a resume is refused is in the journal', async () => {
  for (let count = 0; count < 60; count++) {
    const store = newStore()
    await using crew = asking(store)
    await crew.kickoff({ id: 'r' })
    const more = new Task({ name: 'more', description: 'More on {subject}', agent })
    await using refusing = asking(store, [ask('one'), more])
    const refused = refusing.resume('r').then(({ status }) => status, codeOf)
    await turns(count)
    assert.equal(
      await crew
        .run('r')
        .cancel()
        .then(() => 'done', codeOf),
      'done',
    )
    assert.match(await refused, /^(INPUT_MISSING|RUN_CANCELLED)$/)
    assert.equal((await crew.run('r').view()).status, 'cancelled', `after ${count} turns`)
  }
})

test('a run whose nested crew is cancelled alone during its execution says the same', async () => {
  const { promise: begun, resolve: begins } = Promise.withResolvers<void>()
  const slow = new Task({ name: 'slow', effect: 'read', run: () => (begins(), new Promise<string>(() => {})) })
  const inner = new Crew({ name: 'inner', tasks: [slow], logger: quiet })
  const store = newStore()
  await using crew = new Crew({ name: 'c', tasks: [new Task({ name: 'kid', crew: inner })], store, logger: quiet })
  const call = crew.kickoff({ id: 'r' })
  await begun
  await using alone = inner.with({ store })
  await alone.run('r/kid#1').cancel()
  const error = await refusal(() => call)
  assert.deepEqual([error.code, error.next], ['TASK_FAILED', { type: 'invalidate', runId: 'r', task: 'kid' }])
})

describe('a handle of a started run', () => {
  test('has its result after its crew is closed', async () => {
    const done = new Task({ name: 'done', effect: 'read', run: () => 'done' })
    const crew = new Crew({ name: 'c', tasks: [done], store: newStore(), logger: quiet })
    const run = await crew.kickoff({ id: 'r' }).started
    await run.result()
    await crew.close()
    assert.equal((await run.result()).status, 'completed')
  })

  test('does not name questions of a nested crew that were answered since', async () => {
    const inner = new Crew({ name: 'inner', tasks: [ask('one')], logger: quiet })
    const tasks = [new Task({ name: 'kid', crew: inner })]
    await using crew = new Crew({ name: 'c', tasks, store: newStore(), logger: quiet })
    const run = await crew.kickoff({ id: 'r' }).started
    assert.equal((await run.result()).questions.length, 1)
    await run.answer('kid/q1', { decision: 'approve' })
    assert.deepEqual((await run.result()).questions, [])
  })

  test('reports later lives as any other handle does', async () => {
    const store = newStore()
    await using crew = asking(store)
    const run = await crew.kickoff({ id: 'r' }).started
    assert.equal((await run.result()).status, 'suspended')
    await run.answer('q1', { decision: 'approve' })
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.equal((await run.result()).status, 'completed')
    assert.equal((await Array.fromAsync(run.events())).length, (await entriesOf(store, 'r')).length)
    const request = { headers: { get: () => String(1e6) } }
    assert.equal(
      (await run.toResponse(request as never)).status,
      (await crew.run('r').toResponse(request as never)).status,
    )
  })
})

test('a run whose store failed is abandoned everywhere once no process executes it', async () => {
  const store = newStore()
  let appends = 0
  const failing = new Proxy(store, {
    get: (target, key) =>
      key === 'append' && ++appends > 1 ? () => Promise.reject(new Error('disk')) : own(target, key),
  })
  await using crew = new Crew({
    name: 'c',
    tasks: [new Task({ name: 'one', description: 'One', agent })],
    store: failing,
    logger: quiet,
  })
  await refusal(() => crew.kickoff({ id: 'r' }))
  assert.equal((await crew.run('r').view()).status, 'abandoned')
  assert.equal((await crew.runs({ status: 'abandoned' }).page()).length, 1)
  assert.equal((await refusal(() => crew.run('r').result())).code, 'RUN_ABANDONED')
})

function own(target: Store, key: string | symbol): unknown {
  const member: unknown = Reflect.get(target, key, target)
  return typeof member === 'function' ? (member.bind(target) as unknown) : member
}
