// What packages of providers and tools of users give beside their types: it is kept readable, or left out, and no
// credential is kept.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openai } from '@ai-sdk/openai'
import { tool as aiTool } from 'ai'
import { Agent, Crew, Task, type Tools } from 'reprise'
import { z } from 'zod'
import type { LanguageModelV4 } from '../../src/models/resolve/resolve-model.ts'
import type { Store } from '../../src/stores/store.ts'
import { entriesOf, newStore, refusal } from '../engine/support.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'

type Request = Parameters<LanguageModelV4['doGenerate']>[0]

/** A crew of one task; each turn of its model is a list of parts, whatever they are, or an error. */
function scene(turns: readonly unknown[], tools: Tools, store: Store = newStore()) {
  const asked: Request[] = []
  const model = {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'm',
    supportedUrls: {},
    async doGenerate(request: Request) {
      asked.push(request)
      const content = turns[request.prompt.filter(({ role }) => role === 'assistant').length]
      if (content instanceof Error) throw content
      const tokens = { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined }
      const usage = { inputTokens: tokens, outputTokens: { total: 1, text: 1, reasoning: 0 } }
      return { content, finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] }
    },
  } as unknown as LanguageModelV4
  const agent = new Agent({ role: 'Worker', goal: 'Work', model, tools, maxRetries: 0 })
  const job = new Task({ name: 'job', description: 'Do it', agent })
  return { crew: new Crew({ name: 'odd', tasks: [job], store, logger: { info() {}, warn() {} } }), asked, store }
}

const said = { type: 'text', text: 'done' }
const search = { type: 'tool-call', toolCallId: 's', toolName: 'web', input: '{}', providerExecuted: true }
const web = { web: openai.tools.webSearch() }

describe('a run can be read again after a reply with', () => {
  for (const [what, part] of Object.entries({
    'a call without an input': { ...search, input: undefined },
    'a source without an address': { type: 'source', sourceType: 'url', id: 's', url: null, title: null },
    'a source without an id': { type: 'source', sourceType: 'url', url: 'https://a.example' },
    'a document without a name': {
      type: 'source',
      sourceType: 'document',
      id: 's',
      mediaType: 'text/plain',
      filename: null,
    },
    'a file of no type': { type: 'file', data: { type: 'data', data: 'AAAA' } },
    'a file at no address': { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'files/1' } },
  }))
    test(what, async () => {
      const { crew } = scene([[part, said]], web)
      await crew.kickoff({ id: 'r' })
      assert.equal((await crew.run('r').result()).raw, 'done')
    })
})

describe('what a tool wants sent instead of its result', () => {
  const calls = [{ type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}' }]
  const look = (toModelOutput: () => unknown) => ({
    look: aiTool({
      description: 'd',
      inputSchema: z.object({}),
      execute: () => 'seen',
      toModelOutput: toModelOutput as never,
    }),
  })

  for (const [what, value] of Object.entries({
    'has a relative address': [{ type: 'image-url', url: 'screens/1.png' }],
    'refers to a file by a number': [{ type: 'file-id', fileId: { openai: 7 } }],
  }))
    test(`is the result itself when it ${what}, and the run can be read again`, async () => {
      const { crew, asked } = scene(
        [calls, [said]],
        look(() => ({ type: 'content', value })),
      )
      await crew.kickoff({ id: 'r' })
      assert.match(JSON.stringify(asked[1]?.prompt), /seen/)
      assert.equal((await crew.run('r').result()).raw, 'done')
    })

  test('does not put a call that was made in doubt when it never comes', async () => {
    const stop = new AbortController()
    const hangs = (): Promise<never> => (stop.abort(), new Promise<never>(() => {}))
    const { crew, store } = scene([calls, [said]], look(hangs))
    await crew.kickoff({ id: 'r', signal: stop.signal })
    const types = (await entriesOf(store, 'r')).map(({ type }) => type)
    assert.ok(types.includes('tool.returned') && !types.includes('tool.abandoned'), types.join())
  })
})

describe('the set-up of a tool of a provider', () => {
  const key = 'a1b2c3d4e5f6a7b8c9d0'
  const mcp = (more: object = {}) => ({
    desk: openai.tools.mcp({
      serverLabel: 'desk',
      serverUrl: `https://desk.example/s/${key}/mcp`,
      authorization: 'tok-77aa88bb99cc',
      ...more,
    }),
  })

  test('has its key taken out of its address', async () => {
    const { crew, asked } = scene([[said]], mcp())
    await crew.kickoff({ id: 'r' })
    assert.match(JSON.stringify(asked[0]?.tools), new RegExp(key))
    await using folder = await temporaryFolder()
    await crew.run('r').export(join(folder.path, 'r.jsonl'))
    const kept = await readFile(join(folder.path, 'r.jsonl'), 'utf8')
    const blobs = [...kept.matchAll(/"([\w+/=]{40,})"/g)].map(([, text = '']) => Buffer.from(text, 'base64').toString())
    const whole = [kept, ...blobs].join('\n')
    assert.match(whole, /openai\.mcp/)
    assert.ok(!whole.includes(key) && !whole.includes('tok-77aa88bb99cc'))
  })

  test('is sent with the credentials of today when the tool has changed since', async () => {
    const store = newStore()
    await refusal(() => scene([new Error('down')], mcp(), store).crew.kickoff({ id: 'r' }))
    const { crew, asked } = scene([[said]], mcp({ allowedTools: ['find'] }), store)
    await crew.resume('r', { changed: 'continue' })
    assert.match(JSON.stringify(asked[0]?.tools), /tok-77aa88bb99cc/)
    assert.doesNotMatch(JSON.stringify(asked[0]?.tools), /redacted/)
  })

  test('makes an output stale by words that only look like those of a credential', async () => {
    const args = (keywords: string, author: string) => ({
      find: {
        type: 'provider',
        id: 'test.find',
        isProviderExecuted: true,
        inputSchema: z.object({}),
        args: { keywords, author },
      },
    })
    const store = newStore()
    await scene([[said]], args('water damage', 'Ada Lovelace'), store).crew.kickoff({ id: 'r' })
    const { stale } = await scene([], args('fire', 'Grace Hopper'), store).crew.run('r').result()
    assert.deepEqual(
      stale.flatMap(({ reasons }) => reasons),
      ['tool find changed'],
    )
  })

  test('is refused with a credential among the options that stand in the journal', async () => {
    const headers = { authorization: 'Bearer tok-77aa88bb99cc' }
    const look = aiTool({
      description: 'd',
      inputSchema: z.object({}),
      execute: () => 1,
      providerOptions: { openai: { headers } },
    })
    const error = await refusal(() => scene([[said]], { look }).crew)
    assert.equal(error.code, 'CREW_INVALID')
    assert.match(error.message, /^tool look has a credential in its options/)
    assert.doesNotMatch(error.message, /tok-/)
  })
})
