// Invariant 7: what is written grows with what is new, not with the conversation.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import type { Batch, Store } from '../../src/stores/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { callsFor, keysBeside } from '../../src/engine/once.ts'
import type { AttemptState, CallState } from '../../src/journal/state.ts'
import { newStore, oneTask, stateOf } from './support.ts'

/** All bytes that a store is given (lines, blobs, rows) for a run of one task whose agent calls a tool with 1 KB of result, so many times. */
async function written(steps: number): Promise<number> {
  const fetch = tool({
    name: 'fetch',
    description: 'Fetch',
    effect: 'read',
    input: z.object({ n: z.number() }),
    run: () => 'r'.repeat(1024),
  })
  const script = Array.from({ length: steps }, (_, n) => ({
    when: 'Do it',
    after: n,
    calls: [{ tool: 'fetch', input: { n } }],
  }))
  const model = scriptedModel([...script, { when: 'Do it', after: steps, reply: 'done' }])
  const agent = new Agent({ role: 'Worker', goal: 'Work', model, tools: [fetch], maxIterations: steps + 1 })
  const inner = newStore()
  let bytes = 0
  const count = ({ lines, blobs = [], row, outputs = [] }: Batch): void => {
    for (const part of [...lines, ...blobs]) bytes += part.bytes.length
    bytes += JSON.stringify([row ?? '', outputs]).length
  }
  const store: Store = {
    ...inner,
    create(row, batch, lease) {
      count(batch)
      return inner.create(row, batch, lease)
    },
    append(lease, after, batch) {
      count(batch)
      return inner.append(lease, after, batch)
    },
  }
  const crew = new Crew({ name: 'growth', tasks: [new Task({ name: 'job', description: 'Do it', agent })], store })
  await crew.kickoff()
  return bytes
}

test('ten times the steps write ten times the bytes, and less than twice the payload', async () => {
  const [ten, hundred] = [await written(10), await written(100)]
  const perStep = (hundred - ten) / 90
  assert.ok(Math.abs(ten - 10 * perStep) < 5_000, `a run has ${Math.round(ten - 10 * perStep)} bytes beside its steps`)
  assert.ok(perStep < 2 * 1024, `${Math.round(perStep)} bytes per step of 1 KB`)
})

test('to look through the calls of an attempt, its turns are read once, however many calls it has', async () => {
  const store = newStore()
  const pay = tool({ name: 'pay', description: 'Pay', input: z.object({ n: z.number() }), run: () => 'paid' })
  const calls = Array.from({ length: 20 }, (_, n) => ({ tool: 'pay', input: { n: n % 5 } }))
  const script = [
    { when: 'Do it', after: 0, calls },
    { when: 'Do it', after: 20, reply: 'done' },
  ]
  await oneTask({ tools: [pay], script, store }).crew.kickoff({ id: 'r' })
  const state = await stateOf(store, 'r')
  const attempt = state.attempts.get('job#1') as AttemptState
  const { turns } = attempt
  let reads = 0
  Object.defineProperty(attempt, 'turns', { get: () => (reads++, turns) })
  assert.deepEqual(
    callsFor(state).map(({ occurrence }) => occurrence),
    [0, 1, 2, 3].flatMap((occurrence) => Array<number>(5).fill(occurrence)),
  )
  assert.equal(reads, 1)
  assert.equal(keysBeside(state, 'job', attempt, turns[0]?.calls[0] as CallState).length, 19)
  assert.equal(reads, 2)
})
