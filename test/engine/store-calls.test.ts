// How often a run calls its store, and what waits for those calls: on a server each is a round trip.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { requestLeases } from '../../src/engine/lease/leased-tree.ts'
import { realWorld } from '../../src/engine/world.ts'
import { journalVersion, type Entry } from '../../src/journal/entries.ts'
import { currentOwner } from '../../src/stores/owner.ts'
import type { Batch, Store } from '../../src/stores/store.ts'
import { newStore } from './support.ts'

/**
 * The store calls of a run, with the entry types of each append and without hints. The clock is frozen, so that
 * entries which may wait for the next append always do, however busy the machine is.
 */
async function callsOf(
  context: TestContext,
  make: (store: Store) => Crew,
  execute: (crew: Crew, store: Store, calls: string[]) => Promise<unknown> = completed,
): Promise<string[]> {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const inner = newStore()
  const calls: string[] = []
  const store = new Proxy(inner, {
    get(target, name: keyof Store) {
      const member = target[name]
      if (typeof member !== 'function' || name === 'watch') return member
      return (...given: unknown[]): unknown => {
        calls.push(name === 'append' ? typesOf(given[2] as Batch) : name)
        return (member as (...args: unknown[]) => unknown)(...given)
      }
    },
  })
  await execute(make(store), inner, calls)
  return calls
}

async function completed(crew: Crew): Promise<void> {
  assert.equal((await crew.kickoff()).status, 'completed')
}

function typesOf({ lines }: Batch): string {
  return lines.map(({ bytes }) => (JSON.parse(Buffer.from(bytes).toString()) as Entry).type).join(' ')
}

const look = tool({ name: 'look', description: 'Look', effect: 'read', input: z.object({}), run: () => 'nothing' })

test('three tasks of one model call each make five writes in a row, and no read', async (context) => {
  const agent = new Agent({ role: 'A', goal: 'g', model: scriptedModel([{ when: '', reply: 'done' }]) })
  const tasks = ['a', 'b', 'c'].map((name) => new Task({ name, description: name, agent }))
  assert.deepEqual(await callsOf(context, (store) => new Crew({ name: 'c', tasks, store })), [
    'create',
    'task.started model.replied',
    'task.completed task.started model.replied',
    'task.completed task.started model.replied',
    'task.completed run.completed',
    'release',
  ])
})

test('a turn with a read tool makes one write, and no read', async (context) => {
  const model = scriptedModel([
    { when: '', after: 0, calls: [{ tool: 'look', input: {} }] },
    { when: '', after: 1, calls: [{ tool: 'look', input: {} }] },
    { when: '', after: 2, reply: 'done' },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model, tools: [look] })
  const tasks = [new Task({ name: 'a', description: 'a', agent })]
  assert.deepEqual(await callsOf(context, (store) => new Crew({ name: 'c', tasks, store })), [
    'create',
    'task.started model.replied',
    'tool.called tool.returned model.replied',
    'tool.called tool.returned model.replied',
    'task.completed run.completed',
    'release',
  ])
})

test('a read function makes one write, and no read: its inputs are on disk before it is called', async (context) => {
  const tasks = ['a', 'b'].map((name) => new Task({ name, effect: 'read', run: () => name }))
  assert.deepEqual(await callsOf(context, (store) => new Crew({ name: 'c', tasks, store })), [
    'create',
    'task.started',
    'task.completed task.started',
    'task.completed run.completed',
    'release',
  ])
})

for (const effect of ['once', 'idempotent'] as const) {
  test(`a function that is ${effect} makes two writes: before it is called, and after`, async (context) => {
    const tasks = ['a', 'b'].map((name) => new Task({ name, effect, run: () => name }))
    assert.deepEqual(await callsOf(context, (store) => new Crew({ name: 'c', tasks, store })), [
      'create',
      'task.started',
      'task.completed',
      'task.started',
      'task.completed',
      'run.completed',
      'release',
    ])
  })
}

test('a once call waits for two writes of its own: before it is made, and after', async (context) => {
  const pay = tool({ name: 'pay', description: 'Pay', effect: 'once', input: z.object({}), run: () => 'paid' })
  const model = scriptedModel([
    { when: '', after: 0, calls: [{ tool: 'pay', input: {} }] },
    { when: '', after: 1, reply: 'done' },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model, tools: [pay] })
  const tasks = [new Task({ name: 'a', description: 'a', agent })]
  assert.deepEqual(await callsOf(context, (store) => new Crew({ name: 'c', tasks, store })), [
    'create',
    'task.started model.replied',
    'tool.called',
    'tool.returned',
    'model.replied',
    'task.completed run.completed',
    'release',
  ])
})

test('a claimed run is looked up once, read once, and released once', async (context) => {
  const agent = new Agent({ role: 'A', goal: 'g', model: scriptedModel([{ when: '', reply: 'done' }]) })
  const tasks = [new Task({ name: 'a', description: 'a', agent })]
  const calls = await callsOf(
    context,
    (store) => new Crew({ name: 'c', tasks, store }),
    async (crew, store, called) => {
      const { id } = await crew.enqueue()
      const lanes = [{ crew: 'c', version: '', format: journalVersion }]
      // as a worker does
      const claim = () => store.claim(currentOwner(), 60_000, lanes, { limit: 1 })
      const [lease] = await requestLeases(realWorld(), claim)
      called.length = 0
      assert.deepEqual(await crew.advance(id, { lease }), { status: 'completed' })
    },
  )
  assert.deepEqual(calls, [
    'row',
    'lastNoted',
    'read',
    'run.resumed',
    'inbox',
    'task.started model.replied',
    'task.completed run.completed',
    'release',
  ])
})
