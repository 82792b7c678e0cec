// Invariant 7: what is written grows with what is new, not with the conversation.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import type { Batch, Store } from '../../src/stores/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { newStore } from './support.ts'

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
