import assert from 'node:assert/strict'
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
