// Child runs in the studio's API: their own page, their costs, and their share of the outer run.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { problemOf, served } from './support.ts'

const path = encodeURIComponent
const script = scriptedModel([
  { when: 'Find sources', reply: 'two', usage: { input: 100, output: 10 } },
  { when: 'Digest', reply: { text: 'tides rise' }, usage: { input: 200, output: 20 } },
  { when: 'Write the briefing', reply: 'Tides rise.', usage: { input: 400, output: 40 } },
])

/** The prices are those of the outer crew alone. */
function briefings(store: Store): Crew {
  const writer = new Agent({ role: 'Writer', goal: 'Write', backstory: 'Wrote before', model: 'openai/gpt-5-mini' })
  const task = (name: string, description: string): Task =>
    new Task({ name, description, expectedOutput: 'text', agent: writer })
  const output = z.object({ text: z.string() })
  const inner = new Crew({
    name: 'inner-research',
    tasks: [
      task('sources', 'Find sources about {topic}'),
      new Task({ name: 'digest', description: 'Digest the sources', agent: writer, output }),
    ],
  })
  const tasks = [new Task({ name: 'research', crew: inner }), task('briefing', 'Write the briefing')]
  const prices = { script: { input: 1, output: 10 } }
  return new Crew({ name: 'briefings', tasks, store, prices }).with({ model: script })
}

test('spending includes the calls of nested crews, and its calls, tasks and models add up to the spending of the run', async () => {
  const crew = briefings(memoryStore())
  await crew.kickoff({ id: 'r', inputs: { topic: 'tides' } })
  await using studio = await served({ crews: [crew] })
  const { usage, cost } = await studio.get('GET /runs/{run}', '/runs/r')
  const { calls, tasks, models } = await studio.get('GET /runs/{run}/spending', '/runs/r/spending')
  assert.deepEqual(
    calls.map((call) => [call.task, call.usage.input]),
    [
      ['research', 100],
      ['research', 200],
      ['briefing', 400],
    ],
  )
  for (const parts of [calls, tasks, models]) {
    const sum = (of: 'calls' | 'input' | 'output'): number => parts.reduce((all, part) => all + part.usage[of], 0)
    assert.deepEqual([sum('calls'), sum('input'), sum('output')], [usage.calls, usage.input, usage.output])
    assert.ok(Math.abs(parts.reduce((all, part) => all + (part.cost ?? Number.NaN), 0) - (cost ?? 0)) < 1e-9)
  }
})

test('the run of a nested crew has its costs by the prices of the outer crew, and its code', async () => {
  const crew = briefings(memoryStore())
  await crew.kickoff({ id: 'r', inputs: { topic: 'tides' } })
  await using studio = await served({ crews: [crew] })
  const outer = await studio.get('GET /runs/{run}', '/runs/r')
  const inner = await studio.get('GET /runs/{run}', `/runs/${path('r/research#1')}`)
  assert.equal(inner.cost, outer.tasks[0]?.cost)
  assert.ok(inner.tasks.every(({ cost }) => cost !== undefined && cost > 0))
  assert.deepEqual([inner.code, inner.tasks[1]?.context, inner.can], [true, ['sources'], []])
  assert.ok(inner.tasks[1]?.schema)
  const step = await studio.get(
    'GET /runs/{run}/steps/{path}',
    `/runs/${path('r/research#1')}/steps/${path('sources#1/1')}`,
  )
  assert.ok(step.type === 'model' && step.cost !== undefined)
  const { runs } = await studio.get('GET /runs/{run}/children', '/runs/r/children')
  assert.equal(runs[0]?.cost, inner.cost)
  const listed = await studio.get('GET /runs', '/runs?children=true&crew=inner-research')
  assert.equal(listed.runs[0]?.cost, inner.cost)
  const spending = await studio.get('GET /runs/{run}/spending', `/runs/${path('r/research#1')}/spending`)
  assert.equal(spending.models[0]?.cost, inner.cost)
})

test('a nested crew has a page of its own, from which no run can be started', async () => {
  const crew = briefings(memoryStore())
  await using studio = await served({ crews: [crew] })
  const inner = await studio.get('GET /crews/{crew}', '/crews/inner-research')
  assert.deepEqual(
    inner.tasks.map(({ name }) => name),
    ['sources', 'digest'],
  )
  assert.deepEqual([inner.within, inner.inputs], [['briefings'], ['topic']])
  const { crews } = await studio.get('GET /crews', '/crews')
  assert.deepEqual(
    crews.map(({ name, within }) => [name, within]),
    [['briefings', []]],
  )
  const body = { method: 'POST', headers: { 'content-type': 'application/json', 'x-reprise-studio': '1' }, body: '{}' }
  assert.equal((await problemOf(await studio.send('/crews/inner-research/plan', body))).code, 'NO_CODE')
})

test('the page of a crew names the models that its runs use, also in nested crews', async () => {
  const crew = briefings(memoryStore())
  await using studio = await served({ crews: [crew] })
  for (const name of ['briefings', 'inner-research']) {
    const { agents } = await studio.get('GET /crews/{crew}', `/crews/${name}`)
    assert.deepEqual(
      agents.map(({ role, goal, model }) => [role, goal, model]),
      [['Writer', 'Write', 'scripted/script']],
    )
  }
})

test('a run shows which of its tasks are stale after its code has changed', async () => {
  const store = memoryStore()
  const crewOf = (description: string): Crew =>
    new Crew({ name: 'notes', store, tasks: [new Task({ name: 'note', description, agent })] }).with({ model: script })
  const agent = new Agent({ role: 'Writer', goal: 'Write' })
  await crewOf('Digest it').kickoff({ id: 'r' })
  await using studio = await served({ crews: [crewOf('Digest all of it')] })
  const { stale } = await studio.get('GET /runs/{run}', '/runs/r')
  assert.deepEqual(
    stale.map(({ task }) => task),
    ['note'],
  )
})

test('the run of a nested crew that is also loaded on its own is not stale: the outer crew sets its model', async () => {
  const store = memoryStore()
  const crew = briefings(store)
  await crew.kickoff({ id: 'r', inputs: { topic: 'tides' } })
  const inner = crew.tasks[0]?.child?.crew
  assert.ok(Crew.isInstance(inner))
  await using studio = await served({ crews: [crew, inner], store })
  const { stale, code } = await studio.get('GET /runs/{run}', `/runs/${path('r/research#1')}`)
  assert.deepEqual([stale, code], [[], true])
})

test('a plan knows what a nested crew costs from the run that executed it, also when newer runs inherited that', async () => {
  const crew = briefings(memoryStore())
  await crew.kickoff({ id: 'r', inputs: { topic: 'tides' } })
  await crew.replay('briefing', { runId: 'r', id: 'again' })
  await using studio = await served({ crews: [crew] })
  const outer = await studio.get('GET /runs/{run}', '/runs/r')
  const plan = await studio.post('POST /crews/{crew}/plan', '/crews/briefings/plan', { inputs: { topic: 'waves' } })
  assert.ok(
    outer.cost !== undefined && Math.abs((plan.estimate.cost ?? 0) - outer.cost) < 1e-9,
    `${plan.estimate.cost}`,
  )
})
