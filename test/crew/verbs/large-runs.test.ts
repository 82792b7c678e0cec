// Runs with very large journals.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import { conversationFor } from '../../../src/read/conversation.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { newStore, stateOf } from '../../engine/support.ts'
import { isFull } from '../../support/full.ts'

/** A task whose tool returns the text `times` times, and a task after it. */
function reading(text: string, times = 3) {
  const read = tool({
    name: 'read',
    description: 'Read',
    input: z.object({ part: z.number() }),
    effect: 'read',
    run: ({ part }) => `${part} ${text}`,
  })
  const calls = Array.from({ length: times }, (_, part) => ({ tool: 'read', input: { part } }))
  const model = scriptedModel([
    { when: /^(?!.*Use it)/s, after: 0, calls, usage: { input: 1 } },
    { when: '', reply: 'done', usage: { input: 1 } },
  ])
  const agent = new Agent({ role: 'Clerk', goal: 'g', model, tools: [read] })
  const user = new Agent({ role: 'User', goal: 'g', model: scriptedModel([{ when: '', reply: 'used' }]) })
  const tasks = [
    new Task({ name: 'reading', description: 'Read it', agent }),
    new Task({ name: 'using', description: 'Use it', agent: user }),
  ]
  const store = newStore()
  return { crew: new Crew({ name: 'large', tasks, store, logger: { info() {}, warn() {} } }), store, model }
}

const skip = isFull ? false : 'it takes ten seconds and a gigabyte: npm run test:full'

test('a completed run of 150 MB is replayed, and its inherited task has the whole conversation', { skip }, async () => {
  const { crew } = reading('x'.repeat(50_000_000))
  await crew.kickoff({ id: 'r' })
  assert.equal((await crew.replay('using', { runId: 'r', id: 'again' })).status, 'completed')
  const { messages } = (await crew.run('again').view()).tasks[0] ?? assert.fail()
  assert.ok(JSON.stringify(messages).length > 150_000_000)
})

test('a conversation that is too long for an entry is not inherited with the output', async () => {
  const { crew, store } = reading('x'.repeat(10_000))
  await crew.kickoff({ id: 'r' })
  const state = await stateOf(store, 'r')
  const task = state.tasks.get('reading') ?? assert.fail()
  assert.equal(conversationFor(state, task, new Map(), 60_000)?.rest.length, 3)
  assert.equal(conversationFor(state, task, new Map(), 30_000), undefined)
})

test('a replay stores a long conversation in values that are each much shorter', async () => {
  const { crew, store } = reading('x'.repeat(60_000), 60)
  const longest: number[] = []
  const noting: Store = {
    ...store,
    create(first, batch, ...more) {
      longest.push(Math.max(0, ...[...batch.lines, ...(batch.blobs ?? [])].map(({ bytes }) => bytes.length)))
      return store.create(first, batch, ...more)
    },
  }
  await crew.kickoff({ id: 'r' })
  await crew.with({ store: noting }).replay('using', { runId: 'r', id: 'again' })
  assert.ok((longest.at(-1) ?? Infinity) < 100_000, `${longest.at(-1)} bytes`)
  const [before, after] = await Promise.all(['r', 'again'].map((run) => crew.run(run).view()))
  assert.deepEqual(after?.tasks[0]?.messages, before?.tasks[0]?.messages)
})
