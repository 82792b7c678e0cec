import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Agent, Crew, RepriseError, Task } from 'reprise'
import { scriptedModel } from '../src/testing/scripted-model.ts'

test('an uncaught error prints its message once, with its code and its subject', async () => {
  const model = scriptedModel([{ when: 'Write', error: 'the provider is down' }])
  const agent = new Agent({ role: 'Clerk', goal: 'Answer', model })
  const crew = new Crew({
    name: 'claims',
    tasks: [new Task({ name: 'note', description: 'Write', agent })],
    store: 'memory:',
  })
  const error: unknown = await crew.kickoff({ id: 'r' }).catch((thrown: unknown) => thrown)
  assert.ok(RepriseError.isInstance(error))
  const printed = inspect(error, { depth: 9 })
  const [own = '', cause = ''] = printed.split(/\[cause\]: /)
  assert.equal(own.split('the provider is down').length - 1, 1, printed)
  assert.ok(!printed.includes('undefined'), printed)
  assert.match(own, /code: 'MODEL_FAILED'/)
  assert.match(own, /runId: 'r'/)
  assert.match(own, /next: \{ type: 'resume', runId: 'r' \}/)
  // where it came from
  assert.match(cause, /^\w*Error: .*provider is down/)
})

test('a fetch that failed is reported with its cause, without credentials', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((closed) => server.close(closed))
  const thrown = new TypeError('fetch failed', { cause: new Error('proxy postgres://me:hunter2@db refused') })
  for (const [run, words] of [
    [() => fetch(`http://127.0.0.1:${port}`).then(String), /fetch failed: connect ECONNREFUSED 127\.0\.0\.1:/],
    [() => Promise.reject(thrown), /fetch failed: proxy postgres:\/\/\[redacted\]@db refused/],
  ] as const) {
    const crew = new Crew({ name: 'c', tasks: [new Task({ name: 'get', run })], store: 'memory:' })
    await assert.rejects(crew.kickoff(), words)
  }
})
