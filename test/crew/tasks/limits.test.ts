// The limits of a run, and what happens when they are reached.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { Agent, Crew, Task, type CrewOptions, type Question } from 'reprise'
import type { World } from '../../../src/engine/definition.ts'
import { executeRun } from '../../../src/engine/run/execute-run.ts'
import { createRun } from '../../../src/engine/run/create-run.ts'
import { createProcessState, openEngine, realWorld } from '../../../src/engine/world.ts'
import { takeSlot } from '../../../src/engine/limits/time.ts'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { dyingStore, entriesOf, newStore, orDeath, stateOf } from '../../engine/support.ts'

/** Three tasks of 100 tokens each. */
function spending(options: Partial<CrewOptions> = {}, store: Store = memoryStore()) {
  const model = scriptedModel([{ when: 'Task:', reply: 'done', usage: { input: 90, output: 10 } }])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const tasks = ['a', 'b', 'c'].map((name) => new Task({ name, description: name, agent }))
  const crew = new Crew({ name: 'spending', tasks, store, logger: { info() {}, warn() {} }, ...options })
  return { crew, model, store }
}
/** Lets time pass, by both clocks. */
function passing(context: TestContext): (ms: number) => void {
  context.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-01') })
  let passed = 0
  const monotonic = performance.now.bind(performance)
  context.mock.method(performance, 'now', () => monotonic() + passed)
  return (ms) => {
    passed += ms
    context.mock.timers.tick(ms)
  }
}

const prices = { 'scripted/script': { input: 1000, output: 1000 } }

/** A crew whose middle task is a crew of three tasks of 100 tokens each. */
function within(options: Partial<CrewOptions> = {}) {
  const { crew: inner, model, store } = spending()
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const tasks = [
    new Task({ name: 'first', description: 'first', agent }),
    new Task({ name: 'inner', crew: inner }),
    new Task({ name: 'last', description: 'last', agent }),
  ]
  const crew = new Crew({ name: 'outer', tasks, store, logger: { info() {}, warn() {} }, ...options })
  return { crew, model, store }
}

for (const { where, over, task, calls, spent } of [
  {
    where: 'in its own task',
    over: () => spending({ budget: { tokens: 50 }, process: 'parallel', concurrency: 1 }),
    task: 'b',
    calls: 1,
    spent: '100 of 50',
  },
  {
    where: 'in a nested crew',
    over: () => within({ budget: { tokens: 150 } }),
    task: 'inner',
    calls: 2,
    spent: '200 of 150',
  },
]) {
  describe(`a run over its budget ${where}`, () => {
    test('is failed by a person who refuses to raise it', async () => {
      const onQuestion = () => ({ decision: 'fail', reason: 'too dear' }) as const
      await assert.rejects(over().crew.kickoff({ onQuestion }), { code: 'TASK_FAILED', message: /too dear/ })
    })

    test('is failed by such an answer from elsewhere too, and asks again if it is resumed after all', async () => {
      const { crew, model } = over()
      await crew.kickoff({ id: 'r' })
      await crew.run('r').answer('q1', { decision: 'fail', reason: 'too dear' })
      await assert.rejects(crew.resume('r'), { code: 'TASK_FAILED', task, message: /too dear/ })
      assert.equal(model.calls.length, calls)
      const again = await crew.resume('r')
      assert.deepEqual(
        again.questions.map(({ id, kind, path }) => [id, kind, path]),
        [['q2', 'limit', `${task}#2`]],
      )
      // the spending of the failed attempt counts
      assert.match(String(again), new RegExp(`The run has used ${spent} tokens`))
      assert.equal(model.calls.length, calls)
      const done = await crew.resume('r', { budget: { tokens: 1000 } })
      assert.deepEqual([done.status, done.usage.spent.calls], ['completed', model.calls.length])
    })
  })
}

describe('a run over its budget in a nested crew', () => {
  for (const [what, options, used, to] of [
    ['tokens', { budget: { tokens: 250 } }, /300 of 250 tokens/, { tokens: 1000 }],
    ['money', { budget: { cost: 0.25 }, prices }, /\$0\.30* of \$0\.25/, { cost: 1 }],
  ] as const) {
    test(`stops before the next model call, and the outer run asks: ${what}`, async () => {
      const { crew, model, store } = within(options)
      const stopped = await crew.kickoff({ id: 'r' })
      assert.match(String(stopped), used)
      assert.equal(model.calls.length, 3)
      assert.deepEqual(
        stopped.questions.map(({ id, kind, path }) => [id, kind, path]),
        [['q1', 'limit', 'inner#1']],
      )
      // the data agrees with the message
      assert.deepEqual(
        stopped.questions.map((question) => question.kind === 'limit' && question.spent.calls),
        [3],
      )
      assert.equal((await stateOf(store, 'r')).suspended?.reason, 'limit')
      assert.equal((await stateOf(store, 'r/inner#1')).suspended?.reason, 'parent')
      assert.equal((await crew.resume('r')).status, 'suspended')
      await crew.run('r').answer('q1', { decision: 'raise', to })
      assert.equal((await crew.resume('r')).status, 'completed')
      assert.equal(model.calls.length, 5)
    })
  }

  test('continues at once when its caller raises the limit, as often as it is reached', async () => {
    const { crew, model } = within({ budget: { tokens: 150 } })
    let limit = 150
    const onQuestion = () => ({ decision: 'raise', to: { tokens: (limit += 100) } }) as const
    assert.equal((await crew.kickoff({ onQuestion })).status, 'completed')
    assert.equal(model.calls.length, 5)
    assert.equal(limit, 450)
  })

  test('does not suggest a resume with a higher budget if the budget is that of the nested crew', async () => {
    const { crew: inner, store } = spending({ budget: { tokens: 50 } })
    const crew = new Crew({ name: 'outer', tasks: [new Task({ name: 'inner', crew: inner })], store })
    const [question] = (await crew.kickoff({ id: 'r' })).questions
    assert.match(
      question?.text ?? '',
      /used 100 of 50 tokens\. Answer "raise" with a higher limit, or "fail" with a reason\.$/,
    )
    await crew.run('r').answer('inner/q1', { decision: 'raise', to: { tokens: 1000 } })
    assert.equal((await crew.resume('r')).status, 'completed')
  })

  test('stops two crews down too', async () => {
    const { crew: middle, model, store } = within()
    const crew = new Crew({
      name: 'top',
      tasks: [new Task({ name: 'middle', crew: middle })],
      store,
      budget: { tokens: 250 },
    })
    const stopped = await crew.kickoff({ id: 'r' })
    assert.match(String(stopped), /300 of 250 tokens/)
    assert.equal(model.calls.length, 3)
    assert.equal((await crew.resume('r', { budget: { tokens: 1000 } })).status, 'completed')
    assert.equal(model.calls.length, 5)
  })

  /** A task of 100 tokens, and a nested crew that has used 100 when it asks a person to review its result. */
  function asking(first: 'crew' | 'task', options: Partial<CrewOptions> = {}) {
    const { model, store } = spending()
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const inner = new Crew({
      name: 'inner',
      tasks: [new Task({ name: 'asking', description: 'asking', agent, humanInput: true })],
    })
    const tasks = [
      new Task({ name: 'inner', crew: inner, context: [] }),
      new Task({ name: 'other', description: 'other', agent, context: [] }),
    ]
    if (first === 'task') tasks.reverse()
    const crew = new Crew({ name: 'outer', tasks, process: 'parallel', concurrency: 1, store, ...options })
    return { crew, model }
  }

  test('counts what a waiting nested crew has used', async () => {
    const { crew, model } = asking('crew', { budget: { tokens: 100 } })
    const stopped = await crew.kickoff({ id: 'r' })
    assert.equal(model.calls.length, 1)
    const limit = stopped.questions.find(({ kind }) => kind === 'limit')
    assert.match(limit?.text ?? '', /100 of 100 tokens/)
    assert.deepEqual(limit?.kind === 'limit' && limit.spent, { calls: 1, input: 90, output: 10 })
  })

  test('counts it before its turn comes too, in another life', async () => {
    const { crew, model } = asking('task')
    await crew.kickoff({ id: 'r' })
    await crew.run('r').invalidate('other')
    const stopped = await crew.resume('r', { budget: { tokens: 200 } })
    assert.match(String(stopped), /200 of 200 tokens/)
    assert.equal(model.calls.length, 2)
  })

  test('knows the cost of a finished nested crew, as does a plan', async () => {
    const { crew } = within({ prices })
    await crew.kickoff({ id: 'r' })
    const plan = await crew.plan({ of: 'fork', runId: 'r', from: 'inner' })
    const { estimate } = plan.tasks.find(({ task }) => task === 'inner') ?? {}
    assert.equal(estimate?.usage.calls, 3)
    assert.equal(estimate?.cost?.toFixed(2), '0.30')
    const forked = await crew.fork({ runId: 'r', from: 'inner' })
    const outcome = forked.plan?.find(({ task }) => task === 'inner')
    assert.equal(outcome?.actual?.cost?.toFixed(2), '0.30')
  })
})

describe('a run over its budget', () => {
  test('stops before the next model call, and a resume with a higher budget repeats no step', async () => {
    const { crew, model, store } = spending({ budget: { tokens: 150 } })
    const stopped = await crew.kickoff({ id: 'r' })
    assert.equal(stopped.status, 'suspended')
    assert.equal(model.calls.length, 2)
    assert.equal((await stateOf(store, 'r')).suspended?.reason, 'limit')
    assert.match(String(stopped), /The run has used 200 of 150 tokens/)
    assert.equal((await crew.resume('r')).status, 'suspended')
    assert.equal((await crew.resume('r', { budget: { tokens: 1000 } })).status, 'completed')
    assert.equal(model.calls.length, 3)
    const replies = (await entriesOf(store, 'r')).filter((entry) => entry.type === 'model.replied')
    assert.deepEqual(
      replies.map(({ path }) => path),
      ['a#1/1', 'b#1/1', 'c#1/1'],
    )
  })

  test('asks once, and continues when a person raises the limit, inline or from elsewhere', async () => {
    const inline = spending({ budget: { tokens: 50 } })
    const asked: Question[] = []
    const onQuestion = (question: Question) => {
      asked.push(question)
      return { decision: 'raise', to: { tokens: 100 + 100 * asked.length } } as const
    }
    assert.equal((await inline.crew.kickoff({ onQuestion })).status, 'completed')
    assert.deepEqual(
      asked.map((question) => question.kind === 'limit' && question.spent.input),
      [90, 180],
    )
    const { crew } = spending({ budget: { tokens: 50 } })
    const stopped = await crew.kickoff({ id: 'r' })
    assert.deepEqual(
      stopped.questions.map(({ kind }) => kind),
      ['limit'],
    )
    await assert.rejects(crew.run('r').answer('q1', { decision: 'raise', to: { tokens: -1 } }), {
      code: 'ANSWER_INVALID',
    })
    await crew.run('r').answer('q1', { decision: 'raise', to: { tokens: 1000 } }, { by: 'ada' })
    assert.equal((await crew.resume('r')).status, 'completed')
  })

  test('of several types keeps the limits that an answer does not raise', async () => {
    const { crew, model } = spending({ budget: { tokens: 50, cost: 0.15 }, prices })
    const stopped = await crew.kickoff({ id: 'r' })
    assert.match(String(stopped), /100 of 50 tokens/)
    await crew.run('r').answer('q1', { decision: 'raise', to: { tokens: 10_000 } })
    assert.match(String(await crew.resume('r')), /\$0\.2(0+)? of \$0\.15/)
    assert.equal(model.calls.length, 2)
  })

  test('may have a budget of money, for models with known prices', async () => {
    const { crew, model } = spending({ budget: { cost: 0.15 }, prices })
    const stopped = await crew.kickoff({ id: 'r' })
    assert.match(String(stopped), /\$0\.2(0+)? of \$0\.15/)
    assert.equal(model.calls.length, 2)
    const unknown = spending({ budget: { cost: 1 } })
    await assert.rejects(unknown.crew.kickoff(), {
      code: 'OPTION_INVALID',
      message: /the price of model scripted\/script of task a is unknown; give it: prices/,
    })
    assert.equal(unknown.model.calls.length, 0)
  })

  test('asks again if the budget was raised to money and the cost of a model is unknown', async () => {
    const { crew, model } = spending({ budget: { tokens: 50 } })
    await crew.kickoff({ id: 'r' })
    await crew.run('r').answer('q1', { decision: 'raise', to: { tokens: 1000, cost: 5 } })
    const stopped = await crew.resume('r')
    assert.match(
      String(stopped),
      /The run has used an unknown part of \$5\.00, since the price of a model is not known/,
    )
    assert.equal(model.calls.length, 1)
    assert.equal((await crew.resume('r', { budget: { tokens: 1000 } })).status, 'completed')
  })

  test('may have a budget of time, which excludes waiting for people', async () => {
    const { crew, store } = spending({ budget: { seconds: 3600 } })
    await crew.kickoff({ id: 'r' })
    const { activeMs } = await stateOf(store, 'r')
    assert.ok(activeMs < 60_000)
    const short = spending({ budget: { seconds: 0.000001 } })
    assert.equal((await short.crew.kickoff()).status, 'suspended')
  })

  test('uses no time on idle days, before an answer or after a kill', async (context) => {
    const pass = passing(context)
    const days = (): void => pass(3 * 24 * 3600 * 1000)
    const { model } = spending()
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const tasks = [
      new Task({ name: 'asking', description: 'asking', agent, humanInput: true }),
      new Task({ name: 'last', description: 'last', agent }),
    ]
    const store = newStore()
    const crew = new Crew({ name: 'c', tasks, store, budget: { seconds: 100 } })
    const dying = dyingStore(store, (types) => types.includes('question.asked'))
    await orDeath(crew.with({ store: dying }).kickoff({ id: 'r' }))
    days()
    await crew.run('r').answer('q1', { decision: 'approve' })
    assert.equal((await crew.resume('r', { through: 'asking' })).status, 'suspended')
    days()
    await crew.run('r').edit('asking', 'better')
    assert.equal((await crew.resume('r')).status, 'completed')
  })

  test('counts the time of a nested crew once, in whichever life', async (context) => {
    const pass = passing(context)
    const { model, store } = spending()
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const slow = (name: string): Task => new Task({ name, effect: 'read', run: () => pass(40_000) ?? name })
    const inner = new Crew({
      name: 'inner',
      tasks: [
        slow('slow'),
        new Task({ name: 'asking', description: 'asking', agent, humanInput: true }),
        slow('slower'),
        new Task({ name: 'last', description: 'last', agent }),
      ],
    })
    const tasks = [new Task({ name: 'inner', crew: inner })]
    const crew = new Crew({ name: 'outer', tasks, store, budget: { seconds: 90 } })
    await crew.kickoff({ id: 'r' })
    await crew.run('r').answer('inner/q1', { decision: 'approve' })
    assert.equal((await crew.resume('r')).status, 'completed')
    const strict = new Crew({ name: 'outer', tasks, store, budget: { seconds: 80 } })
    await strict.kickoff({ id: 's' })
    await strict.run('s').answer('inner/q1', { decision: 'approve' })
    assert.match(String(await strict.resume('s')), /80 of 80 seconds/)
  })

  test('with several active branches has one question, and all continue when it is answered', async () => {
    const store = memoryStore()
    const model = scriptedModel([{ when: 'Task:', reply: 'done', usage: { input: 90, output: 10 } }])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const first = new Task({ name: 'first', description: 'first', agent, context: [] })
    const rest = ['a', 'b', 'c'].map((name) => new Task({ name, description: name, agent, context: [first] }))
    const crew = new Crew({
      name: 'wide',
      tasks: [first, ...rest],
      store,
      process: 'parallel',
      budget: { tokens: 100 },
    })
    const stopped = await crew.kickoff({ id: 'r' })
    assert.equal(stopped.questions.length, 1)
    await crew.run('r').answer(stopped.questions[0]?.id ?? '', { decision: 'raise', to: { tokens: 10_000 } })
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.equal(model.calls.length, 4)
  })

  test('counts the cost of coworkers', async () => {
    const store = memoryStore()
    const usage = { input: 90, output: 10 }
    const model = scriptedModel([
      {
        when: /You are Lead/,
        calls: [{ tool: 'delegate_work', input: { coworker: 'Helper', task: 'Dig', context: '' } }],
        usage,
      },
      { when: /./, reply: 'done', usage },
    ])
    const helper = new Agent({ role: 'Helper', goal: 'g', model })
    const lead = new Agent({ role: 'Lead', goal: 'g', model, allowDelegation: true })
    const tasks = [
      new Task({ name: 'a', description: 'a', agent: lead }),
      new Task({ name: 'b', description: 'b', agent: helper }),
    ]
    const crew = new Crew({ name: 'delegating', agents: [lead, helper], tasks, store, prices, budget: { cost: 0.15 } })
    const stopped = await crew.kickoff({ id: 'r' })
    // one call of the lead's, one of the helper's: the lead is not asked again
    assert.equal(model.calls.length, 2)
    assert.match(String(stopped), /\$0\.2(0+)? of \$0\.15/)
  })

  test('refuses a budget of money if the model of a coworker has no known price', async () => {
    const lead = new Agent({ role: 'Lead', goal: 'g', model: scriptedModel([]), allowDelegation: true })
    const helper = new Agent({ role: 'Helper', goal: 'g', model: { ...scriptedModel([]), modelId: 'unknown' } })
    const tasks = [new Task({ name: 'a', description: 'a', agent: lead })]
    const crew = new Crew({ name: 'c', agents: [lead, helper], tasks, store: 'memory:', prices, budget: { cost: 1 } })
    const refused = { code: 'OPTION_INVALID', message: /model scripted\/unknown of task a/ }
    await assert.rejects(crew.kickoff(), refused)
    // the manager has one coworker, who hands work on to the other
    const manager = new Agent({ role: 'Manager', goal: 'g', model: scriptedModel([]) })
    const managed = new Crew({
      name: 'c',
      agents: [lead, helper],
      tasks,
      process: 'hierarchical',
      manager,
      store: 'memory:',
      prices,
      budget: { cost: 1 },
    })
    await assert.rejects(managed.kickoff(), refused)
  })

  test('refuses an invalid budget', async () => {
    assert.throws(() => spending({ budget: { tokens: 0 } }), {
      code: 'OPTION_INVALID',
      message: /budget of crew "spending" has 0 as tokens/,
    })
    assert.throws(() => spending({ budget: { euros: 5 } as never }), {
      message: /has "euros"; there are tokens, cost, seconds/,
    })
    await assert.rejects(spending().crew.resume('r', { budget: 5 as never }), {
      code: 'OPTION_INVALID',
      message: /^budget is 5/,
    })
  })
})

test('requests per minute are limited, and the wait for one ends with the signal', async () => {
  let now = 0
  const waits: number[] = []
  const world = {
    now: () => new Date(now),
    monotonic: () => now,
    process: createProcessState(),
    async sleep(ms: number, signal: AbortSignal) {
      signal.throwIfAborted()
      waits.push(ms)
      now += ms
    },
  }
  const { signal } = new AbortController()
  const who = {}
  for (let times = 0; times < 5; times++) await takeSlot(who, 2, world, signal)
  assert.deepEqual(waits, [60_000, 60_000])
  await assert.rejects(
    (async () => {
      for (let times = 0; times < 3; times++) await takeSlot(who, 2, world, AbortSignal.abort(new Error('stopped')))
    })(),
    /stopped/,
  )
})

test('requests per minute of a crew include those of a nested crew', async () => {
  let now = 0
  const waits: number[] = []
  const world: World = {
    ...realWorld(),
    monotonic: () => now,
    async sleep(ms) {
      waits.push(ms)
      now += ms
    },
  }
  const { crew, model, store } = within({ maxRpm: 2 })
  const definition = crew['~definition']({})
  const hold = await createRun(openEngine(store, world), definition, { run: 'r', inputs: {} })
  assert.ok(hold)
  assert.equal((await executeRun(hold, definition, {})).status, 'completed')
  assert.equal(model.calls.length, 5)
  assert.deepEqual(waits, [60_000, 60_000])
})
