// Invariant 7: what is written grows with what is new, not with the conversation.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tool } from 'reprise'
import { z } from 'zod'
import { Agent, Crew, Task } from 'reprise'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { newStore } from './support.ts'

/** Bytes of a run of one task whose agent calls a tool with 1 KB of result, so many times. */
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
  const store = newStore()
  const crew = new Crew({ name: 'growth', tasks: [new Task({ name: 'job', description: 'Do it', agent })], store })
  await crew.kickoff({ id: 'r' })
  let bytes = 0
  for await (const line of store.read('r')) bytes += line.bytes.length
  return bytes
}

test('ten times the steps write ten times the bytes, and less than twice the payload', async () => {
  const [ten, hundred] = [await written(10), await written(100)]
  const perStep = (hundred - ten) / 90
  assert.ok(Math.abs(ten - 10 * perStep) < 3_000, `a run has ${Math.round(ten - 10 * perStep)} bytes beside its steps`)
  assert.ok(perStep < 2 * 1024, `${Math.round(perStep)} bytes per step of 1 KB`)
})
