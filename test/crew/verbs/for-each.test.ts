// kickoffForEach: one run per element of a list of inputs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'

function topics(script: readonly ScriptEntry[] = [], store = memoryStore()) {
  const model = scriptedModel([
    ...script,
    { when: 'Task: Write', reply: (text) => `on ${/Write about (\w+)/.exec(text)?.[1]}` },
  ])
  const write = new Task({
    name: 'write',
    description: 'Write about {topic}',
    agent: new Agent({ role: 'A', goal: 'g', model }),
  })
  return { crew: new Crew({ name: 'topics', tasks: [write], store }), model, store }
}

test('kickoffForEach creates a run for each inputs, and returns the results in their order', async () => {
  const { crew } = topics()
  const results = await crew.kickoffForEach([{ topic: 'fire' }, { topic: 'water' }, { topic: 'air' }], {
    concurrency: 2,
  })
  assert.deepEqual(
    results.map((result) => String(result)),
    ['on fire', 'on water', 'on air'],
  )
  const runs = await crew.runs().page()
  assert.equal(runs.length, 3)
  const water = results[1]?.runId
  assert.equal(String(await crew.replay('write', { runId: water as string, inputs: { topic: 'ice' } })), 'on ice')
})

test('kickoffForEach fails no other run when one fails, and returns the failure in its place', async () => {
  const { crew, store } = topics([{ when: 'about water', error: 'no power' }])
  const results = await crew.kickoffForEach([{ topic: 'fire' }, { topic: 'water' }, { topic: 'air' }], { id: 'night' })
  assert.deepEqual(
    results.map(({ status, runId }) => `${runId} ${status}`),
    ['night-1 completed', 'night-2 failed', 'night-3 completed'],
  )
  assert.match(String(results[1]), /no power.*crew\.run\('night-2'\)\.resume\(\)/)
  assert.ok(results[1]?.status === 'failed' && results[1].error.code === 'MODEL_FAILED')
  // the repeated call executes the rest, and pays for no completed run
  const later = topics([], store)
  const again = await later.crew.kickoffForEach([{ topic: 'fire' }, { topic: 'water' }, { topic: 'air' }], {
    id: 'night',
  })
  assert.deepEqual(again.map(String), ['on fire', 'on water', 'on air'])
  assert.equal(later.model.calls.length, 1)
})

test('kickoffForEach of a verbose crew logs the outcome of each run', async () => {
  const said: string[] = []
  const logger = { info: (line: string) => void said.push(line), warn() {} }
  const { crew } = topics([{ when: 'about water', error: 'no power' }])
  const loud = new Crew({ name: 'topics', tasks: crew.tasks, store: memoryStore(), logger })
  await loud.kickoffForEach([{ topic: 'fire' }, { topic: 'water' }], { id: 'n', concurrency: 1 })
  assert.deepEqual(
    said.filter((line) => line.includes('have ended')),
    ['[n-1] completed: 1 of 2 runs have ended', '[n-2] failed: 2 of 2 runs have ended'],
  )
})

test('kickoffForEach has no more active runs than its concurrency', async () => {
  let now = 0
  let most = 0
  const { crew } = topics()
  const slow = scriptedModel([{ when: 'Task:', reply: 'x' }])
  const watched = {
    ...slow,
    doGenerate: async (request: Parameters<typeof slow.doGenerate>[0]) => {
      most = Math.max(most, ++now)
      await new Promise(setImmediate)
      now--
      return slow.doGenerate(request)
    },
  }
  await crew.with({ model: watched }).kickoffForEach(
    Array.from({ length: 20 }, (_, at) => ({ topic: `t${at}` })),
    { concurrency: 3 },
  )
  assert.equal(most, 3)
})

test('kickoffForEach reports every mistake in the inputs before the first run starts', async () => {
  const { crew, model } = topics()
  const bad = async (inputs: unknown, expected: object, options = {}) =>
    assert.rejects(crew.kickoffForEach(inputs as never, options), expected)
  await bad([{ topic: 'a' }, {}], { code: 'INPUT_MISSING', message: /^inputs\[1\]: .*topic/ })
  await bad([{ topic: 'a' }, { topic: new Date() }], {
    code: 'INPUT_INVALID',
    message: /^inputs\[1\]: inputs\.topic is a Date/,
  })
  await bad({ topic: 'a' }, { code: 'INPUT_INVALID', message: /give a list of inputs/ })
  await bad([{ topic: 'a' }], { code: 'OPTION_INVALID', message: /concurrency is 0/ }, { concurrency: 0 })
  await bad(
    [{ topic: 'a' }, { topic: 'b' }],
    { code: 'OPTION_INVALID', message: /both get the run id "same"/ },
    { id: () => 'same' },
  )
  assert.equal(model.calls.length, 0)
  assert.deepEqual(await crew.runs().page(), [])
})

test('kickoffForEach suspends the active runs on a signal and leaves the rest for later', async () => {
  const controller = new AbortController()
  const { crew, store } = topics([
    {
      when: (text) => {
        if (text.includes('about fire')) controller.abort()
        return false
      },
      reply: '',
    },
  ])
  const inputs = [{ topic: 'air' }, { topic: 'fire' }, { topic: 'water' }]
  const results = await crew.kickoffForEach(inputs, { id: 'n', concurrency: 1, signal: controller.signal })
  assert.deepEqual(
    results.map(({ status }) => status),
    ['completed', 'suspended', 'pending'],
  )
  const again = await topics([], store).crew.kickoffForEach(inputs, { id: 'n' })
  assert.deepEqual(again.map(String), ['on air', 'on fire', 'on water'])
})

test('kickoffForEach reports each result when its run has ended, and names inputs in errors by nameOf', async () => {
  const { crew } = topics([{ when: 'about water', error: 'no power' }])
  const ended: string[] = []
  const onResult = ({ status }: { status: string }, index: number): void => void ended.push(`${index} ${status}`)
  const options = { concurrency: 1, onResult, nameOf: (index: number) => `line ${index + 1}` }
  await crew.kickoffForEach([{ topic: 'fire' }, { topic: 'water' }], options)
  assert.deepEqual(ended, ['0 completed', '1 failed'])
  await assert.rejects(
    crew.kickoffForEach([{ topic: 'fire' }, {} as { topic: string }], options),
    /^RepriseError: line 2: /,
  )
})

test('kickoffForEach whose onResult throws starts no further run, and rejects after those in progress', async () => {
  const { crew } = topics()
  const onResult = (): never => {
    throw new Error('the disk is full')
  }
  const list = ['a', 'b', 'c'].map((topic) => ({ topic }))
  const failed = crew.kickoffForEach(list, { concurrency: 2, onResult })
  await assert.rejects(failed, { code: 'CALLBACK_FAILED', message: /onResult threw: the disk is full/ })
  const runs = await crew.runs().page()
  assert.deepEqual(
    runs.map(({ status }) => status),
    ['completed', 'completed'],
  )
})
