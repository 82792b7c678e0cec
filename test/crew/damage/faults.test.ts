// A model server that misbehaves over the wire: the run fails with a helpful message, keeps its record, and continues
// once the server works again. Invariants 2 and 10.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { chatReply, environmentOf, openServer, sendJson } from '../../models/support.ts'

type Fault = (response: ServerResponse) => void

const silence = 'nothing for longer than the timeout'
const faults: readonly (readonly [what: string, fault: Fault, message: RegExp])[] = [
  [
    '401',
    (response) => sendJson(response, 401, { error: { message: 'Incorrect API key provided' } }),
    /HTTP 401: Incorrect API key provided.*check OPENAI_API_KEY/,
  ],
  [
    '429 with a Retry-After',
    (response) => sendJson(response, 429, { error: { message: 'Slow down' } }, { 'retry-after': '120' }),
    /HTTP 429: Slow down.*asks to wait 120 s/,
  ],
  ['500', (response) => sendJson(response, 500, { error: { message: 'Oops' } }), /HTTP 500: Oops/],
  ['an answer that breaks off', (response) => breakOff(response), /model openai\/gpt-5-mini failed/],
  ['an answer other than JSON', (response) => response.end('<html>Bad gateway</html>'), /cannot be read.*Bad gateway/],
  ['JSON other than a reply', (response) => sendJson(response, 200, { hello: 'world' }), /cannot be read/],
  [silence, () => {}, /no reply within 1 s/],
]

for (const [what, fault, message] of faults) {
  test(`a server that returns ${what} fails the run with its words, and the run continues afterwards without a repeated step`, async () => {
    let ill = true
    await using server = await openServer((response, count) => {
      if (ill && count > 1) fault(response)
      else sendJson(response, 200, chatReply({ content: `reply ${count}` }))
    })
    using _ = environmentOf({ OPENAI_API_KEY: 'sk-not-a-real-key', OPENAI_BASE_URL: server.url })
    const patient = new Agent({ role: 'Clerk', goal: 'Answer', maxRetries: 0 })
    // only the call that gets no reply is to have a limit on time
    const settings = what === silence ? { timeoutSeconds: 1 } : {}
    const agent = new Agent({ role: 'Second clerk', goal: 'Answer', maxRetries: 0, settings })
    const tasks = [
      new Task({ name: 'first', description: 'The first', agent: patient }),
      new Task({ name: 'second', description: 'The second', agent }),
    ]
    const crew = new Crew({ name: 'faults', tasks, store: memoryStore() })
    await assert.rejects(crew.kickoff({ id: 'r' }), { code: 'MODEL_FAILED', runId: 'r', task: 'second', message })
    const failed = await crew.run('r').view()
    assert.equal(failed.status, 'failed')
    assert.equal(failed.task('first').raw, 'reply 1')
    ill = false
    const result = await crew.resume('r')
    assert.equal(result.status, 'completed')
    assert.equal(result.raw, `reply ${server.received.length}`)
    assert.equal(server.received.length, 3, 'the first task was paid once')
  })
}

test('a busy server is retried after the time that it names, and the failed try is recorded', async () => {
  await using server = await openServer((response, count) => {
    if (count === 1) sendJson(response, 429, { error: { message: 'Slow down' } }, { 'retry-after-ms': '1' })
    else sendJson(response, 200, chatReply({ content: 'at last' }))
  })
  using _ = environmentOf({ OPENAI_API_KEY: 'sk-not-a-real-key', OPENAI_BASE_URL: server.url })
  const agent = new Agent({ role: 'Clerk', goal: 'Answer' })
  const crew = new Crew({
    name: 'busy',
    tasks: [new Task({ name: 'job', description: 'Do it', agent })],
    store: memoryStore(),
  })
  assert.equal(String(await crew.kickoff({ id: 'r' })), 'at last')
  const tries: string[] = []
  for await (const entry of crew.run('r').events()) {
    if (entry.type === 'model.replied') tries.push(...(entry.tries ?? []).map((failed) => failed.error))
  }
  assert.deepEqual(tries, ['HTTP 429: Slow down'])
})

/** Promises more than it sends, and hangs up. */
function breakOff(response: ServerResponse): void {
  response.setHeader('content-type', 'application/json')
  response.setHeader('content-length', '5000')
  response.write('{"id":"x","choices":[{"index":0,"mess', () => response.destroy())
}
