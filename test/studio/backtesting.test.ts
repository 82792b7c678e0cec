// Backtests in the API: planned, executed here, stopped, continued, and seen as they grow.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, Crew, Flow, Task, tool } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { posted, problemOf, served, type Client } from './support.ts'

interface Made {
  readonly crew: Crew
  /** How often the model was asked about letters. */
  asked(): number
}

/** `how` stands in the description, so that another one is another code. */
function letters(store: Store, how: string, gate?: (call: number) => Promise<unknown>): Made {
  let asked = 0
  const model = scriptedModel([{ when: 'Write', reply: (text) => `${how}: ${/way about (\w+)/.exec(text)?.[1]}` }])
  const gated = {
    ...model,
    doGenerate: async (request: never) => {
      asked++
      await gate?.(asked)
      return model.doGenerate(request)
    },
  }
  const post = tool({ name: 'post', description: 'Post', effect: 'once', input: z.object({}), run: () => 'posted' })
  const agent = new Agent({ role: 'Clerk', goal: 'Help', model: gated, tools: [post] })
  const letter = new Task({ name: 'letter', description: `Write in a ${how} way about {topic}`, agent })
  const crew: Crew = new Crew({ name: 'letters', store, tasks: [letter] })
  return { crew, asked: () => asked }
}

async function withRuns(topics: readonly string[]): Promise<Store> {
  const store = memoryStore()
  const { crew } = letters(store, 'calm')
  for (const topic of topics) await crew.kickoff({ id: topic, inputs: { topic } } as never)
  return store
}

const planned = (studio: Client, body: object) =>
  studio.post('POST /crews/{crew}/backtests/plan', '/crews/letters/backtests/plan', body)
const started = (studio: Client, body: object) =>
  studio.post('POST /crews/{crew}/backtests', '/crews/letters/backtests', body)
const seen = (studio: Client, id: string) => studio.get('GET /backtests/{backtest}', `/backtests/${id}`)

/** Until its view fits. */
async function until(studio: Client, id: string, fits: (view: Awaited<ReturnType<typeof seen>>) => boolean) {
  for (;;) {
    const response = await studio.send(`/backtests/${id}`)
    const view = (await response.json()) as Awaited<ReturnType<typeof seen>>
    if (response.ok && fits(view)) return view
  }
}

test('a backtest is planned without spending, then executed on exactly the runs of the plan', async () => {
  const store = await withRuns(['cellar', 'roof', 'door'])
  const { crew, asked } = letters(store, 'warm')
  await using studio = await served({ crews: [crew] })
  const plan = await planned(studio, { task: 'letter', runs: 2 })
  assert.deepEqual(
    plan.cases.map(({ runId, inputs, done }) => [runId, inputs, done]),
    [
      ['door', { topic: 'door' }, false],
      ['roof', { topic: 'roof' }, false],
    ],
  )
  assert.deepEqual(plan.cases[0]?.changes, ['description changed'])
  assert.deepEqual([plan.execute, plan.withheld, plan.estimate?.samples], [2, ['post'], 3])
  assert.deepEqual([asked(), (await studio.get('GET /backtests', '/backtests')).backtests], [0, []])

  const { id, total } = await started(studio, { task: 'letter', runs: plan.cases.map(({ runId }) => runId) })
  assert.equal(total, 2)
  const view = await until(studio, id, ({ here, cases }) => cases.length === 2 && !here)
  assert.equal(asked(), 2)
  const roof = view.cases.find(({ runId }) => runId === 'roof')
  assert.deepEqual(
    [roof?.old?.raw, roof?.new?.raw, roof?.equal, roof?.changes, roof?.difference?.in],
    ['calm: roof', 'warm: roof', false, ['description changed'], 'both'],
  )
  assert.deepEqual([view.code, view.task, view.crew], [true, 'letter', 'letters'])
  // its trials are not runs of the crew
  const listed = async (query: string): Promise<readonly string[]> =>
    (await studio.get('GET /runs', `/runs${query}`)).runs.map(({ crew: name }) => name)
  assert.deepEqual(await listed(''), ['letters', 'letters', 'letters'])
  const trials = await listed('?backtests=true')
  assert.equal(trials.length, 2)
  assert.ok(!trials.includes('letters'), 'they are listed instead of the others')
  assert.deepEqual(await listed('?backtests=true&crew=letters'), trials)
})

test('a backtest grows while it is seen, is stopped between its trials, and is continued without paying again', async () => {
  const store = await withRuns(['a', 'b', 'c', 'd', 'e', 'f'])
  const go = Promise.withResolvers<void>()
  const { crew, asked } = letters(store, 'warm', async (call) => {
    if (call > 4) await go.promise
  })
  await using studio = await served({ crews: [crew] })
  const { id } = await started(studio, { task: 'letter', id: 'trial' })
  assert.deepEqual((await seen(studio, id)).here, true, 'it is seen from the beginning')
  const half = await until(studio, id, ({ cases }) => cases.filter((one) => one.new).length === 4)
  assert.deepEqual([half.here, half.total], [true, 6])
  const twice = await problemOf(await studio.send('/crews/letters/backtests', posted({ task: 'letter', id })))
  assert.deepEqual([twice.status, twice.code], [409, 'RUN_HELD'])
  await studio.post('POST /backtests/{backtest}/stop', `/backtests/${id}/stop`, {})
  const stopped = await seen(studio, id)
  assert.deepEqual([stopped.here, stopped.cases.filter((one) => one.new).length], [false, 4])
  assert.equal(stopped.total, 6)
  const rest = await planned(studio, { task: 'letter', id, runs: 6 })
  assert.deepEqual([rest.cases.length, rest.execute], [6, 2])
  go.resolve()
  const before = asked()
  await started(studio, { task: 'letter', id, runs: rest.cases.map(({ runId }) => runId) })
  const view = await until(studio, id, ({ here, cases }) => !here && cases.every((one) => one.new))
  assert.deepEqual([view.cases.length, asked() - before], [6, 2])
  assert.equal((await problemOf(await studio.send(`/backtests/${id}/stop`, posted({})))).status, 404)
})

test('a studio that is closed in the middle of a backtest leaves what is done, and another continues the rest', async () => {
  const store = await withRuns(['a', 'b', 'c', 'd', 'e'])
  const held = letters(store, 'warm', (call) => (call > 4 ? new Promise(() => {}) : Promise.resolve()))
  {
    await using studio = await served({ crews: [held.crew] })
    await started(studio, { task: 'letter', id: 'trial' })
    await until(studio, 'trial', ({ cases }) => cases.filter((one) => one.new).length === 4)
  }
  const { crew, asked } = letters(store, 'warm')
  await using studio = await served({ crews: [crew] })
  await started(studio, { task: 'letter', id: 'trial' })
  await until(studio, 'trial', ({ here, cases }) => !here && cases.filter((one) => one.new).length === 5)
  assert.equal(asked(), 1)
})

test('a task that cannot be tried is refused before a run is made, and a studio without code only shows backtests', async () => {
  const store = await withRuns(['a'])
  const { crew } = letters(store, 'warm')
  await using studio = await served({ crews: [crew] })
  const refused = async (body: object) => {
    const { status, code } = await problemOf(await studio.send('/crews/letters/backtests', posted(body)))
    return `${status} ${code}`
  }
  assert.equal(await refused({ task: 'lettre' }), '404 TASK_NOT_FOUND')
  assert.equal(await refused({ task: 'letter', runs: 0 }), '400 OPTION_INVALID')
  assert.equal(await refused({ task: 'letter', runs: 201 }), '400 OPTION_INVALID')
  assert.equal(await refused({ task: 'letter', runs: ['none'] }), '404 RUN_NOT_FOUND')
  assert.equal(await refused({ task: 'letter', runs: [7] }), '400 OPTION_INVALID')
  assert.equal(await refused({ task: 'letter', id: 'latest' }), '400 OPTION_INVALID')
  const empty = letters(memoryStore(), 'warm')
  await using none = await served({ crews: [empty.crew] })
  assert.deepEqual((await planned(none, { task: 'letter' })).cases, [])
  assert.equal(
    (await problemOf(await none.send('/crews/letters/backtests', posted({ task: 'letter' })))).code,
    'RUN_NOT_FOUND',
  )
  await crew.backtest('letter', { id: 'trial' })
  await using bare = await served({ store })
  assert.deepEqual([(await seen(bare, 'trial')).code, (await seen(bare, 'trial')).cases.length], [false, 1])
  for (const path of ['/crews/letters/backtests', '/crews/letters/backtests/plan'])
    assert.equal((await problemOf(await bare.send(path, posted({ task: 'letter' })))).code, 'NO_CODE')
})

test('all keys of a step of a flow are tried, each as a case of its own, and continued by the backtest', async () => {
  const store = memoryStore()
  let calls = 0
  const flowOf = (how: string, gate?: () => Promise<unknown>) =>
    new Flow({
      name: 'letters',
      store,
      async run(flow) {
        const topics = await flow.step('topics', { effect: 'read' }, () => ['roof', 'door'])
        await Promise.all(
          topics.map((input) =>
            flow.step('letter', { key: input, input, effect: 'read' }, async (topic) => {
              calls += 1
              await gate?.()
              return `${how} ${topic}`
            }),
          ),
        )
        return flow.ask('sure', 'Sure?')
      },
    })
  await flowOf('calm').kickoff({ id: 'a:1' })
  calls = 0
  const crew = flowOf('warm', async () => calls > 1 && new Promise(() => {}))
  {
    await using studio = await served({ crews: [crew] })
    const plan = await planned(studio, { task: 'letter' })
    assert.deepEqual(
      plan.cases.map(({ runId, task, done }) => [runId, task, done]),
      [
        ['a:1', 'letter[roof]', false],
        ['a:1', 'letter[door]', false],
      ],
    )
    assert.deepEqual([plan.execute, plan.estimate?.usage.calls, calls], [2, 0, 0])
    assert.equal((await started(studio, { task: 'letter', id: 'trial' })).total, 2)
    await until(studio, 'trial', ({ cases }) => cases.filter((one) => one.new).length === 1)
    const { status, code } = await problemOf(
      await studio.send('/crews/letters/backtests/plan', posted({ task: 'sure' })),
    )
    assert.deepEqual([status, code], [400, 'OPTION_INVALID'])
  }
  await using studio = await served({ crews: [flowOf('warm')] })
  const rest = await planned(studio, { task: 'letter', id: 'trial' })
  assert.deepEqual([rest.cases.length, rest.execute], [2, 1])
  await started(studio, { task: 'letter', id: 'trial' })
  const view = await until(studio, 'trial', ({ here, cases }) => !here && cases.filter((one) => one.new).length === 2)
  assert.deepEqual([view.task, view.total, calls], ['letter', 2, 3])
  assert.deepEqual(view.cases.map(({ task, old, new: now }) => `${task}: ${old?.raw}, ${now?.raw}`).toSorted(), [
    'letter[door]: calm door, warm door',
    'letter[roof]: calm roof, warm roof',
  ])
})
