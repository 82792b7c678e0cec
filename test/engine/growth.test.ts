// Invariant 7: bytes written grow with new data, not with the conversation.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import type { Batch, Store } from '../../src/stores/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { callsToInherit, siblingKeys } from '../../src/engine/calls/once.ts'
import type { AttemptState, CallState } from '../../src/journal/state/state.ts'
import { newStore, oneTask, stateOf } from './support.ts'

/**
 * All bytes that a store is given (lines, blobs, rows) for a run of one task whose agent calls a tool with 1 KB of
 * result, so many times.
 */
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
  const { store, bytes } = countingStore()
  const crew = new Crew({ name: 'growth', tasks: [new Task({ name: 'job', description: 'Do it', agent })], store })
  await crew.kickoff()
  return bytes()
}

/** Counts all bytes that it is given: lines, blobs, rows. */
function countingStore(inner = newStore()): { store: Store; bytes: () => number } {
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
  return { store, bytes: () => bytes }
}

/**
 * A crew whose tasks each see all earlier outputs of 10 KB. With `guardrails`, a model judges all outputs but a few.
 */
function longCrew(count: number, store: Store, guardrails: string[] = []) {
  const model = scriptedModel([
    { when: 'The rule:', reply: { accept: true, reason: '' } },
    { when: 'Task:', reply: (text) => `${text.length} ${'o'.repeat(10_240)}` },
  ])
  const agent = new Agent({ role: 'Writer', goal: 'Write', model })
  const tasks = Array.from(
    { length: count },
    (_, n) => new Task({ name: `task-${n}`, description: `Write part ${n}`, agent, guardrails }),
  )
  return { crew: new Crew({ name: 'long', tasks, store, logger: { info() {}, warn() {} } }), model }
}

test('a run with ten times the steps writes ten times the bytes, and less than twice the payload', async () => {
  const [ten, hundred] = [await written(10), await written(100)]
  const perStep = (hundred - ten) / 90
  assert.ok(Math.abs(ten - 10 * perStep) < 5_000, `a run has ${Math.round(ten - 10 * perStep)} bytes beside its steps`)
  assert.ok(perStep < 2 * 1024, `${Math.round(perStep)} bytes per step of 1 KB`)
})

for (const count of [10, 20, 40, 80]) {
  test(`${count} tasks of 10 KB that see all earlier ones write less than twice what they produce`, async () => {
    const { store, bytes } = countingStore()
    const { crew } = longCrew(count, store)
    const result = await crew.kickoff()
    const produced = result.tasks.reduce((sum, { raw }) => sum + raw.length, 0)
    assert.ok(produced >= count * 10_240)
    assert.ok(bytes() < 2 * produced, `${bytes()} bytes for ${produced}, ${(bytes() / produced).toFixed(2)} times`)
  })
}

test('guardrails of a model, and a replay that restores, write each output once more and not once per task', async () => {
  const judged = countingStore()
  const produced = 20 * 10_240
  await longCrew(20, judged.store, ['It is long']).crew.kickoff()
  assert.ok(judged.bytes() < 3 * produced, `${(judged.bytes() / produced).toFixed(2)} times`)
  const store = newStore()
  await longCrew(20, store).crew.kickoff({ id: 'one' })
  const replayed = countingStore(store)
  await longCrew(20, replayed.store).crew.replay('task-19', { runId: 'one' })
  // each text once as the restored output, and once in its conversation
  assert.ok(replayed.bytes() < 2.5 * produced, `${(replayed.bytes() / produced).toFixed(2)} times`)
})

test('a function with large inputs does not write them for every task', async () => {
  const { store, bytes } = countingStore()
  const tasks = Array.from({ length: 20 }, (_, n) => new Task({ name: `t${n}`, effect: 'read', run: () => n }))
  await new Crew({ name: 'functions', tasks, store }).kickoff({ inputs: { text: 'i'.repeat(20_000) } })
  assert.ok(bytes() < 60_000, `${bytes()} bytes`)
})

test("a lookup of an attempt's calls reads its turns once, however many calls it has", async () => {
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
    callsToInherit(state).map(({ occurrence }) => occurrence),
    [0, 1, 2, 3].flatMap((occurrence) => Array<number>(5).fill(occurrence)),
  )
  assert.equal(reads, 1)
  assert.equal(siblingKeys(state, 'job', attempt, turns[0]?.calls[0] as CallState).length, 19)
  assert.equal(reads, 2)
})
