// Messages to a nested crew that waits while its outer crew is in progress.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { crewLanes } from '../../../src/read/lanes.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import type { Store } from '../../../src/stores/store.ts'
import { newStore, stateOf } from '../../engine/support.ts'

const quiet = { info() {}, warn() {} }
const approve = { decision: 'approve' } as const

/** A task that is in progress from when `begun` resolves until `end` is called. */
function gate(name: string) {
  const begun = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<string>()
  const run = (): Promise<string> => {
    begun.resolve()
    return ended.promise
  }
  return { task: new Task({ name, context: [], run }), begun: begun.promise, end: () => ended.resolve('done') }
}

/** facts → sum, which a person approves. */
function asking(store: Store) {
  const model = scriptedModel([{ when: 'Task:', reply: (text) => `${/Task: (\w+)/.exec(text)?.[1]}` }])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const facts = new Task({ name: 'facts', description: 'Facts', agent })
  const sum = new Task({ name: 'sum', description: 'Sum', agent, humanInput: true })
  return { model, within: new Crew({ name: 'asking', tasks: [facts, sum], store, logger: quiet }) }
}

/** ask (a crew) beside slow. */
function beside(store = newStore()) {
  const { within, model } = asking(store)
  const slow = gate('slow')
  const tasks = [new Task({ name: 'ask', crew: within, context: [] }), slow.task]
  return {
    crew: new Crew({ name: 'beside', tasks, process: 'parallel', store, logger: quiet }),
    within,
    model,
    slow,
    store,
  }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve))
}

async function waits(store: Store, run: string): Promise<void> {
  await until(async () => (await store.row(run))?.status === 'suspended')
}

describe('a nested crew that waits while another task is in progress', () => {
  test('is executed again in the same life when it is invalidated', async () => {
    const { crew, slow, store } = beside()
    const result = crew.kickoff({ id: 'r' })
    await waits(store, 'r/ask#1')
    await crew.run('r').invalidate('ask')
    slow.end()
    assert.equal((await result).status, 'suspended')
    assert.deepEqual((await stateOf(store, 'r')).suspended, { reason: 'child', children: ['ask#2'] })
    assert.deepEqual(
      (await crew.run('r').view()).questions.map(({ id }) => id),
      ['ask/q1'],
    )
  })

  test('executes an invalidated task of its own while its question is still open', async () => {
    const { crew, within, slow, store, model } = beside()
    const result = crew.kickoff({ id: 'r' })
    await waits(store, 'r/ask#1')
    await within.run('r/ask#1').invalidate('facts')
    slow.end()
    await result
    assert.equal(model.calls.filter((call) => JSON.stringify(call).includes('Task: Facts')).length, 2)
    assert.equal((await stateOf(store, 'r/ask#1')).tasks.get('facts')?.status, 'completed')
  })

  test('fails its task when it alone is cancelled', async () => {
    const { crew, within, slow, store } = beside()
    const result = crew.kickoff({ id: 'r' })
    await waits(store, 'r/ask#1')
    await within.run('r/ask#1').cancel()
    slow.end()
    await assert.rejects(result, { code: 'TASK_FAILED', message: /its run r\/ask#1 was cancelled/ })
  })
})

test('answers to nested crews are recorded once, even if every waiting run reads them at once', async () => {
  const store = newStore()
  const { within } = asking(store)
  const [inner, outer] = [gate('inner'), gate('outer')]
  const mid = new Crew({
    name: 'mid',
    tasks: [new Task({ name: 'deep', crew: within }), inner.task],
    process: 'parallel',
    store,
    logger: quiet,
  })
  const tasks = [new Task({ name: 'mid', crew: mid }), new Task({ name: 'ask', crew: within, context: [] }), outer.task]
  const crew = new Crew({ name: 'top', tasks, process: 'parallel', store, logger: quiet })
  const result = crew.kickoff({ id: 'r' })
  await Promise.all([waits(store, 'r/ask#1'), waits(store, 'r/mid#1/deep#1')])
  await crew.run('r').answer('mid/deep/q1', approve)
  await crew.run('r').answer('ask/q1', approve)
  inner.end()
  outer.end()
  assert.equal((await result).status, 'completed')
})

test('an unread message to a cancelled crew does not keep a worker busy', async () => {
  const store = newStore()
  const { within } = asking(store)
  const mid = new Crew({ name: 'mid', tasks: [new Task({ name: 'deep', crew: within })], store, logger: quiet })
  const crew = new Crew({ name: 'top', tasks: [new Task({ name: 'mid', crew: mid })], store, logger: quiet })
  await crew.kickoff({ id: 'r' })
  await store.post('r/mid#1/deep#1', {
    id: 'm',
    at: new Date().toISOString(),
    body: '{"type":"invalidate","task":"sum"}',
  })
  await mid.run('r/mid#1').cancel()
  assert.deepEqual(await store.inbox('r/mid#1/deep#1'), [])
  const calls = { inbox: 0 }
  const counting: Store = {
    ...store,
    inbox(run) {
      if (++calls.inbox > 100) throw new Error('it looks for ever')
      return store.inbox(run)
    },
  }
  for (const _ of [1, 2]) assert.equal((await crew.with({ store: counting }).advance('r')).status, 'failed')
})

test('a message during the cancellation of a crew does not make its run ready', async () => {
  const store = newStore()
  const { within } = asking(store)
  const mid = new Crew({ name: 'mid', tasks: [new Task({ name: 'deep', crew: within })], store, logger: quiet })
  const crew = new Crew({ name: 'top', tasks: [new Task({ name: 'mid', crew: mid })], store, logger: quiet })
  await crew.kickoff({ id: 'r' })
  const deep = 'r/mid#1/deep#1'
  const late = { id: 'm', at: new Date().toISOString(), body: '{"type":"invalidate","task":"sum"}' }
  const racing: Store = {
    ...store,
    async inbox(run) {
      const read = await store.inbox(run)
      if (run === deep) await store.post(deep, late)
      return read
    },
  }
  await mid.with({ store: racing }).run('r/mid#1').cancel()
  assert.deepEqual(await store.inbox(deep), [late])
  assert.equal((await crew.advance('r')).status, 'failed')
  assert.deepEqual(await store.ready(crewLanes(crew.describe()), 1), [])
})
