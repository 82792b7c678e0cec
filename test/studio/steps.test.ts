// One step of a run as the studio's API gives it, also a model call that failed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import { scriptedModel, type ScriptEntry } from 'reprise/testing'
import { served, type Client } from './support.ts'

const unavailable = { status: 503, message: 'the provider is away', retryAfter: 0 }

function writing(store: Store, ...script: readonly ScriptEntry[]): Crew {
  const agent = new Agent({ role: 'Writer', goal: 'Write', model: scriptedModel(script) })
  const write = new Task({ name: 'write', description: 'Write about {topic}', expectedOutput: 'a page', agent })
  return new Crew({ name: 'writing', store, tasks: [write] })
}

function stepOf(studio: Client, path: string) {
  return studio.get('GET /runs/{run}/steps/{path}', `/runs/r/steps/${encodeURIComponent(path)}`)
}

test('a failed model call opens with its request, its error and each of its tries', async () => {
  const store = memoryStore()
  const crew = writing(store, { when: 'Write', error: unavailable })
  await assert.rejects(async () => crew.kickoff({ id: 'r', inputs: { topic: 'tides' } }))
  await using studio = await served({ crews: [crew] })
  const { attempts } = await studio.get('GET /runs/{run}/timeline', '/runs/r/timeline')
  assert.deepEqual(
    attempts.flatMap(({ steps }) => steps.map(({ path, status }) => [path, status])),
    [['write#1/1', 'failed']],
  )
  const step = await stepOf(studio, 'write#1/1')
  assert.ok(step.type === 'model')
  assert.equal(step.reply, undefined)
  assert.match(step.error?.message ?? '', /the provider is away/)
  assert.equal(step.tries.length, 3)
  assert.ok(step.tries.every(({ error }) => error.includes('the provider is away')))
  assert.match(step.request.instructions, /You are Writer/)
  assert.deepEqual(
    step.request.messages.map(({ role }) => role),
    ['user'],
  )
})

test('a model call that failed and was made again after a resume opens with its reply and every earlier try', async () => {
  const store = memoryStore()
  await assert.rejects(async () =>
    writing(store, { when: 'Write', error: unavailable }).kickoff({ id: 'r', inputs: { topic: 'tides' } }),
  )
  let failures = 1
  const crew = writing(
    store,
    { when: () => failures-- > 0, error: unavailable },
    { when: 'Write', reply: 'Tides rise.' },
  )
  await crew.resume('r')
  await using studio = await served({ crews: [crew] })
  const step = await stepOf(studio, 'write#1/1')
  assert.ok(step.type === 'model')
  assert.deepEqual(step.reply?.parts, [{ type: 'text', text: 'Tides rise.' }])
  assert.equal(step.error, undefined)
  assert.equal(step.tries.length, 4)
})
