// Tests the crew with the model of offline.ts: no key, no network, and no real claim is filed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tool } from 'reprise'
import { z } from 'zod'
import { crew, model } from './offline.ts'

const lookupPolicy = tool({
  name: 'lookup_policy',
  description: 'Look a policy up by its number',
  effect: 'read',
  input: z.object({ number: z.string() }),
  run: () => ({ covers: ['water'] }),
})

test('extracts the facts, files the claim once and writes the note', async () => {
  let filed = 0
  const fileClaim = tool({
    name: 'file_claim',
    description: 'File a claim; returns its number',
    input: z.object({ policy: z.string(), issue: z.string() }),
    run: () => ({ claim: `CL-${++filed}` }),
  })
  await using tested = crew.with({ store: 'memory:', tools: [lookupPolicy, fileClaim] })
  const inputs = { notes: 'Policy P-77, water in the cellar.', reader: 'the claims team' }

  const result = await tested.kickoff({ inputs })
  assert.deepEqual(result.task('facts').output, { policy: 'P-77', issue: 'water in the cellar', covered: true })
  assert.match(String(result), /^For the claims team: CL-1,/)
  assert.equal(model.calls.length, 4)

  const replayed = await tested.replay('note', { inputs: { reader: 'the customer' } })
  assert.match(String(replayed), /^For the customer: CL-1,/)
  assert.equal(filed, 1)
})
