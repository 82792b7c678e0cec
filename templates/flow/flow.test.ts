// Tests the flow with the model of offline.ts: no key, no network, and no real claim is filed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tool } from 'reprise'
import { z } from 'zod'
import { claims } from './offline.ts'

const lookupPolicy = tool({
  name: 'lookup_policy',
  description: 'Look a policy up by its number',
  effect: 'read',
  input: z.object({ number: z.string() }),
  run: () => ({ covers: ['water'] }),
})

/** The flow with an empty store, and with tools that count what is filed. */
function testedClaims() {
  const filed: string[] = []
  const fileClaim = tool({
    name: 'file_claim',
    description: 'File a claim; returns its number',
    input: z.object({ policy: z.string(), issue: z.string() }),
    run: ({ issue }) => ({ claim: `CL-${filed.push(issue)}` }),
  })
  return { filed, tested: claims.with({ store: 'memory:', tools: [lookupPolicy, fileClaim] }) }
}

test('files the claim once, and writes the note until it names the claim', async () => {
  const { filed, tested } = testedClaims()
  const inputs = { notes: 'Policy P-77, water in the cellar.', reader: 'the claims team' }
  const result = await tested.kickoff({ inputs })
  assert.match(String(result), /^For the claims team: an assessor will come about CL-1\./)
  assert.deepEqual(filed, ['water in the cellar'])
  assert.deepEqual(
    result.tasks.map(({ name }) => name),
    ['facts', 'file_claim', 'note[1]', 'note[2]'],
  )
})

test('asks a person about what the policy does not cover', async () => {
  const { filed, tested } = testedClaims()
  const inputs = { notes: 'Policy P-77, he fell down the stairs.', reader: 'the customer' }
  const asked = await tested.kickoff({ id: 'claim-1', inputs })
  assert.match(asked.questions[0]?.text ?? '', /does not cover this: a fall/)
  await tested.run('claim-1').answer('q1', { decision: 'answer', value: false })
  assert.equal(String(await tested.resume('claim-1')), 'For the customer: the claim was refused.')
  assert.deepEqual(filed, [])
})
