// What a tool of a user's own asks of a crew: its description, its store, and how it compares with a run.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, Crew, Flow, Task } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { stateOf } from '../../engine/support.ts'

const model = scriptedModel([{ when: 'Task:', reply: 'done' }])

function books(store: Store, description = 'Write about {topic}'): Crew {
  const agent = new Agent({ role: 'Writer', goal: 'Write', model: 'openai/gpt-5-mini' })
  const inner = new Crew({ name: 'inner', tasks: [new Task({ name: 'draft', description, agent })] })
  const tasks = [
    new Task({ name: 'chapter', crew: inner }),
    new Task({ name: 'count', run: () => ({ words: 2 }), output: z.object({ words: z.number() }) }),
  ]
  return new Crew({ name: 'books', version: '2', accepts: ['1'], maxRuns: 3, tasks, store }).with({ model })
}

test('the description of a crew is plain data, with its nested crews and the models that its runs use', () => {
  const description = books(memoryStore()).describe()
  assert.deepEqual(structuredClone(description), description)
  const { name, version, accepts, maxRuns, flow, process, inputs, anyInput, tasks } = description
  assert.deepEqual([name, version, accepts, maxRuns, flow, process], ['books', '2', ['1'], 3, false, 'sequential'])
  assert.deepEqual([inputs, anyInput], [['topic'], true])
  const [chapter, count] = tasks
  assert.deepEqual([chapter?.type, chapter?.models, chapter?.crew?.name], ['crew', ['scripted/script'], 'inner'])
  assert.deepEqual(
    chapter?.crew?.agents.map((agent) => agent.model),
    ['scripted/script'],
  )
  assert.deepEqual([count?.type, count?.context, count?.models], ['function', ['chapter'], []])
  assert.match(JSON.stringify(count?.schema), /"words":\{"type":"number"/)
  const greet = new Flow({ name: 'greet', inputs: z.object({ who: z.string() }), run: () => 'hello' })
  assert.deepEqual([greet.describe().flow, greet.describe().inputs, greet.describe().tasks], [true, ['who'], []])
})

test('a crew compares a run of its own, or a child run, with its code, and refuses one of another crew', async () => {
  const store = memoryStore()
  await books(store).kickoff({ id: 'r', inputs: { topic: 'tides' } })
  const changed = books(store, 'Write at length about {topic}')
  const stale = async (run: string): Promise<readonly string[]> =>
    (await changed.compare(await stateOf(store, run))).stale.map(({ task }) => task)
  assert.deepEqual([await stale('r'), await stale('r/chapter#1')], [['chapter'], ['draft']])
  assert.deepEqual((await books(store).compare(await stateOf(store, 'r'))).stale, [])
  const other = new Crew({ name: 'other', tasks: [new Task({ name: 'one', run: () => 1 })], store })
  await other.kickoff({ id: 'o' })
  await assert.rejects(changed.compare(await stateOf(store, 'o')), { code: 'RUN_NOT_FOUND' })
})

test('a crew opens the store that its runs are in, and a copy with a module records it with its runs', async () => {
  const store = memoryStore()
  const crew = books(store)
  assert.equal(await crew.openStore(), store)
  const module = { file: 'src/books.ts', export: 'books' }
  const copy = crew.with({ module })
  assert.deepEqual([crew.module, copy.module, copy.with({ model }).module], [undefined, module, module])
  await copy.enqueue({ id: 'r', inputs: { topic: 'tides' } })
  assert.deepEqual((await stateOf(store, 'r')).module, module)
  assert.throws(() => crew.with({ module: { file: '' } }), { code: 'OPTION_INVALID' })
})

test('the handle of a run tells whether its crew executes it', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const crew = new Crew({ name: 'c', tasks: [new Task({ name: 'wait', run: () => promise })], store: memoryStore() })
  const result = crew.kickoff({ id: 'r' })
  const run = await result.started
  assert.deepEqual([run.here, crew.run('r').here, crew.with({}).run('r').here], [true, true, false])
  resolve('done')
  await result
  assert.equal(run.here, false)
})

test('an error about a missing input names it, and its next step gives all that are missing', async () => {
  const agent = new Agent({ role: 'Writer for {reader}', goal: 'Write', model })
  const tasks = [new Task({ name: 'note', description: 'Write about {topic}', agent })]
  const crew: Crew = new Crew({ name: 'notes', tasks, store: memoryStore() })
  const expected = { code: 'INPUT_MISSING', next: { type: 'give', inputs: ['topic', 'reader'] } }
  await assert.rejects(crew.kickoff({ inputs: {} }), expected)
  await assert.rejects(crew.enqueue({ inputs: {} }), expected)
  await assert.rejects(crew.schedule({ cron: '@daily', inputs: {} }), expected)
})
