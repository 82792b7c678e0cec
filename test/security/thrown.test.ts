// Invariant 9, for errors of users' own functions: their messages reach journals, logs and errors without credentials.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { z } from 'zod'
import { assertNowhere, storedIn } from './nowhere.ts'

const key = 'ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6'
const boom = (): never => {
  throw new Error(`GET https://x-access-token:${key}@github.com/x?token=${key} failed`)
}

interface Thrower {
  readonly tool?: object
  readonly task?: object
  readonly crew?: object
}

const throwers: { readonly [what: string]: Thrower } = {
  'a tool': { tool: { run: boom } },
  'the approval of a tool': { tool: { approval: boom } },
  'the key of a tool': { tool: { effect: 'idempotent', key: boom } },
  'a guardrail': { task: { guardrails: [boom] } },
  'a condition': { task: { when: boom } },
  'a callback': { task: { callback: boom } },
  'the schema of an answer': { task: { output: z.object({ a: z.string().refine(boom) }), retries: 0 } },
  beforeKickoff: { crew: { beforeKickoff: boom } },
}

for (const [what, given] of Object.entries(throwers)) {
  test(`a token in an error that ${what} throws is in no journal, log or message`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reprise-thrown-'))
    const log: string[] = []
    const say = (line: string): void => void log.push(line)
    const call = tool({
      name: 'call',
      description: 'Calls',
      effect: 'read',
      input: z.object({}),
      run: () => 'called',
      ...given.tool,
    } as never)
    const model = scriptedModel([
      { when: '', calls: [{ tool: 'call', input: {} }] },
      { when: '', reply: { a: 'done' } },
    ])
    const agent = new Agent({ role: 'Clerk', goal: 'Answer', model, tools: [call] })
    const crew = new Crew({
      name: 'thrown',
      tasks: [
        new Task({ name: 'first', run: () => 1 }),
        new Task({ name: 'job', description: 'Say it', agent, ...given.task }),
      ],
      store: `sqlite:${join(folder, 'runs.db')}`,
      logger: { info: say, warn: say },
      ...given.crew,
    })
    try {
      const thrown: unknown = await crew.kickoff().catch((reason: unknown) => reason)
      await crew.close()
      const message = thrown instanceof Error ? thrown.message : ''
      const stored = await storedIn(folder).catch(() => '')
      assert.match(`${stored}${message}`, /github\.com/, 'the message of the error is kept')
      assertNowhere(key, { stored, log: log.join('\n'), message })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
}

test('a token in an error that a function task throws is in no journal, log or message', async () => {
  const log: string[] = []
  const say = (line: string): void => void log.push(line)
  const task = new Task({ name: 'job', run: boom })
  await using crew = new Crew({ name: 'thrown', tasks: [task], store: 'memory:', logger: { info: say, warn: say } })
  const thrown: unknown = await crew.kickoff().catch((reason: unknown) => reason)
  assert.match((thrown as Error).message, /github\.com/)
  assertNowhere(key, { message: (thrown as Error).message, log: log.join('\n') })
})

test('a token in an error that the generator of run ids, or a logger, throws is in no message', async (context) => {
  const warned: string[] = []
  context.mock.method(process, 'emitWarning', (text: string) => warned.push(text))
  const task = new Task({ name: 'job', run: () => 'done' })
  await using crew = new Crew({ name: 'thrown', tasks: [task], store: 'memory:', logger: { info: boom, warn: boom } })
  const thrown: unknown = await crew.kickoffForEach([{}], { id: boom }).catch((reason: unknown) => reason)
  assert.match((thrown as Error).message, /github\.com/)
  await crew.kickoff()
  assert.match(warned.join('\n'), /github\.com/)
  assertNowhere(key, { message: (thrown as Error).message, warned: warned.join('\n') })
})

test('a credential in the settings of an agent is refused by its place, since the journal keeps them', () => {
  const agent = (providerOptions: never) => new Agent({ role: 'Clerk', goal: 'Answer', settings: { providerOptions } })
  for (const options of [{ gateway: { byok: { openai: [{ apiKey: 'no-known-shape' }] } } }, { mine: { note: key } }]) {
    assert.throws(
      () => agent(options as never),
      (error: Error) => {
        assert.match(error.message, /settings\.providerOptions\.\S+ of .* is a credential.*model object/)
        assertNowhere('no-known-shape', { message: error.message })
        assertNowhere(key, { message: error.message })
        return true
      },
    )
  }
  agent({ openai: { promptCacheKey: 'notes-2026', reasoningEffort: 'low', user: 'ada@example.com' } } as never)
})
