// Tools as the AI SDK and its providers make them, in crews: what is asked, sent, kept and shown of them, also by later
// processes.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { anthropic } from '@ai-sdk/anthropic'
import { google } from '@ai-sdk/google'
import { openai } from '@ai-sdk/openai'
import { dynamicTool, jsonSchema, tool as aiTool } from 'ai'
import { Agent, Crew, Task, tool, type AgentOptions, type Tools } from 'reprise'
import { z } from 'zod'
import type { Entry } from '../../src/journal/entries.ts'
import type { LanguageModelV4 } from '../../src/models/resolve/resolve-model.ts'
import type { Store } from '../../src/stores/store.ts'
import { atEveryAppend, entriesOf, newStore, orDeath, refusal } from '../engine/support.ts'
import { png } from '../models/provider-protocols.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'

type Request = Parameters<LanguageModelV4['doGenerate']>[0]
type Content = Awaited<ReturnType<LanguageModelV4['doGenerate']>>['content']

const says = (text: string): Content => [{ type: 'text', text }]
const calls = (toolName: string, input: unknown): Content => [
  { type: 'tool-call', toolCallId: `c-${toolName}`, toolName, input: JSON.stringify(input) },
]
const searches: Content = [
  { type: 'tool-call', toolCallId: 's1', toolName: 'web', input: '{"query":"floods"}', providerExecuted: true },
  { type: 'tool-result', toolCallId: 's1', toolName: 'web', result: { pages: 2 } },
  { type: 'source', sourceType: 'url', id: 'a', url: 'https://flood.example/maps', title: 'Maps' },
  { type: 'source', sourceType: 'url', id: 'b', url: 'https://flood.example/maps', title: 'Maps' },
  { type: 'source', sourceType: 'document', id: 'c', mediaType: 'application/pdf', title: 'Report', filename: 'r.pdf' },
]
const draws: Content = [
  { type: 'file', mediaType: 'image/png', data: { type: 'data', data: Buffer.from(png, 'base64') } },
]

interface Scene {
  /** What the model says in each turn of its conversation. */
  readonly turns: readonly Content[]
  readonly tools?: Tools
  readonly store?: Store
  readonly agent?: Partial<AgentOptions>
  readonly raw?: string
}

/** A crew of one task whose model answers by its number of calls, equal in every life; and the requests it got. */
function scene({ turns, tools = {}, store = newStore(), agent = {}, raw = 'stop' }: Scene) {
  const asked: Request[] = []
  const warnings: string[] = []
  const unused = { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined }
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'm',
    supportedUrls: {},
    async doGenerate(request) {
      asked.push(request)
      const spoken = request.prompt.filter(({ role }) => role === 'assistant').length
      const content = turns[spoken] ?? assert.fail(`turn ${spoken + 1} was asked for`)
      const finishReason = { unified: 'stop', raw: spoken === 0 ? raw : 'stop' } as const
      return {
        content,
        finishReason,
        usage: { inputTokens: unused, outputTokens: { total: 1, text: 1, reasoning: 0 } },
        warnings: [],
      }
    },
    doStream: () => assert.fail('there is no listener'),
  }
  const worker = new Agent({ role: 'Worker', goal: 'Work', model, tools, ...agent })
  const job = new Task({ name: 'job', description: 'Do it', agent: worker })
  const logger = { info() {}, warn: (words: string) => void warnings.push(words) }
  const crew = new Crew({ name: 'sdk', tasks: [job], store, logger })
  return { crew, asked, store, warnings, sent: (turn: number) => JSON.stringify(asked[turn]?.prompt) }
}

const web = { web: openai.tools.webSearch({ searchContextSize: 'low' }) }

describe('a tool that the provider executes', () => {
  test('is sent by its id, and what came of it is in the result, in another process and in a fork', async () => {
    const { crew, asked, store } = scene({ turns: [[...searches, ...says('It floods.'), ...draws]], tools: web })
    const result = await crew.kickoff({ id: 'r1' })
    const { name, ...definition } = {
      name: 'web',
      type: 'provider',
      id: 'openai.web_search',
      args: { searchContextSize: 'low' },
    }
    assert.deepEqual(asked[0]?.tools, [{ name, ...definition }])
    assert.equal(result.raw, 'It floods.')
    const seen = (task: (typeof result.tasks)[0]) => ({
      sources: task.sources.map(({ url, filename, title }) => [title, url ?? filename]),
      files: task.files.map((file) => [file.mediaType, 'base64' in file ? file.base64 : file.url]),
    })
    const expected = {
      sources: [
        ['Maps', 'https://flood.example/maps'],
        ['Report', 'r.pdf'],
      ],
      files: [['image/png', png]],
    }
    assert.deepEqual(seen(result.task('job') as never), expected)
    const other = scene({ turns: [], tools: web, store })
    assert.deepEqual(seen((await other.crew.run('r1').view()).tasks[0] as never), expected)
    const fork = await other.crew.run('r1').fork({ id: 'r2' })
    assert.deepEqual(seen(fork.task('job') as never), expected)
    await using folder = await temporaryFolder()
    await crew.run('r1').export(join(folder.path, 'r1.jsonl'))
    const elsewhere = scene({ turns: [], tools: web })
    await elsewhere.crew.import(join(folder.path, 'r1.jsonl'))
    assert.deepEqual(seen((await elsewhere.crew.run('r1').view()).tasks[0] as never), expected)
  })

  test('needs no question after a crash, and a recorded reply is not asked for again', async () => {
    await atEveryAppend(async (dying) => {
      const noted: string[] = []
      const note = tool({
        name: 'note',
        description: 'Note',
        input: z.object({}),
        run: (_, { idempotencyKey }) => void noted.push(idempotencyKey),
        settle: (key) => (noted.includes(key) ? { happened: true, result: null } : { happened: false }),
      })
      const tools = [tool(web.web, { name: 'web' }), note]
      const turns = [[...searches, ...calls('note', {})], says('Noted.')]
      const store = newStore()
      const first = scene({ turns, tools, store: dying(store) })
      await orDeath(first.crew.kickoff({ id: 'r1' }))
      const replied = (await entriesOf(store, 'r1').catch(() => [])).filter(
        ({ type }) => type === 'model.replied',
      ).length
      const second = scene({ turns, tools, store })
      const result = await second.crew.kickoff({ id: 'r1' })
      assert.equal(result.status, 'completed')
      assert.deepEqual(result.questions, [])
      assert.equal(second.asked.length, 2 - replied)
      assert.equal(noted.length, 1)
      const whole = first.sent(1) ?? second.sent(1 - replied)
      assert.equal(whole.match(/"providerExecuted":true/g)?.length, 1, whole)
      assert.match(whole, /"pages":2/)
      assert.doesNotMatch(whole, /flood\.example/)
    })
  })

  test('continues where its provider paused, in the life that it is in', async () => {
    await atEveryAppend(async (dying) => {
      const store = newStore()
      const turns = [searches.slice(0, 1), [...searches.slice(1), ...says('Done.')]]
      const first = scene({ turns, tools: web, store: dying(store), raw: 'pause_turn' })
      await orDeath(first.crew.kickoff({ id: 'r1' }))
      const second = scene({ turns, tools: web, store, raw: 'pause_turn' })
      assert.equal((await second.crew.kickoff({ id: 'r1' })).raw, 'Done.')
      const entries = await entriesOf(store, 'r1')
      const replies = entries.filter((entry) => entry.type === 'model.replied')
      assert.deepEqual(
        replies.map(({ paused }) => paused),
        [true, undefined],
      )
    })
  })

  test('makes an output stale when it is set up in another way', async () => {
    const { crew, store } = scene({ turns: [says('one')], tools: web })
    await crew.kickoff({ id: 'r1' })
    const staleWith = async (searchContextSize: 'low' | 'high') => {
      const tools = { web: openai.tools.webSearch({ searchContextSize }) }
      const { stale } = await scene({ turns: [], tools, store }).crew.run('r1').result()
      return stale.flatMap(({ reasons }) => reasons)
    }
    assert.deepEqual(await staleWith('low'), [])
    assert.deepEqual(await staleWith('high'), ['tool web changed'])
  })

  test('has its credentials sent and not kept', async () => {
    const authorization = 'tok-4f9a1c77d2e84b60'
    const server = {
      serverLabel: 'tickets',
      serverUrl: 'https://tickets.example/mcp',
      authorization,
      headers: { 'x-desk': 'a1b2c3d4e5f6' },
    }
    const { crew, asked, store } = scene({ turns: [says('ok')], tools: { tickets: openai.tools.mcp(server) } })
    await crew.kickoff({ id: 'r1' })
    const [definition] = (asked[0]?.tools ?? []) as { args?: typeof server }[]
    assert.equal(definition?.args?.authorization, authorization)
    const lines = JSON.stringify(await entriesOf(store, 'r1'))
    const [started] = (await entriesOf(store, 'r1')).filter((entry) => entry.type === 'task.started')
    const hash = /[\w-]{43}/.exec(JSON.stringify(started?.request))?.[0] ?? ''
    const pinned = Buffer.from((await store.blob('r1', hash)) ?? []).toString()
    assert.match(pinned, /tickets\.example/)
    for (const secret of [authorization, 'a1b2c3d4e5f6']) assert.ok(!`${lines}${pinned}`.includes(secret))
  })

  test('is refused where it would ask within its reply, or has what only our own calls can have', async () => {
    const mcp = openai.tools.mcp({ serverLabel: 't', serverUrl: 'https://t.example', requireApproval: 'always' })
    const asks = await refusal(() => new Agent({ role: 'A', goal: 'g', tools: { mcp } }))
    assert.equal(asks.code, 'CREW_INVALID')
    assert.match(asks.message, /tool mcp \(openai\.mcp\) has requireApproval: "always"/)
    const cached = await refusal(() => tool(web.web, { name: 'web', effect: 'read', cache: true }))
    assert.match(cached.message, /tool web is executed by its provider; leave cache out/)
  })

  test('is left out of a trial, unless it only reads', async () => {
    const turns = [says('one')]
    const { crew, store } = scene({ turns, tools: web })
    await crew.kickoff({ id: 'r1' })
    const careful = scene({ turns, tools: web, store })
    await careful.crew.backtest('job', { runs: ['r1'] })
    assert.equal(careful.asked[0]?.tools, undefined)
    assert.match(careful.warnings.join('\n'), /web is left out: this is a trial.*effect: 'read'/)
    const reading = scene({ turns, tools: [tool(web.web, { name: 'web', effect: 'read' })], store })
    await reading.crew.backtest('job', { runs: ['r1'] })
    assert.equal(reading.asked[0]?.tools?.length, 1)
  })

  test('is distinguished from a tool of ours when a model calls it anyway', async () => {
    const { crew, sent } = scene({ turns: [calls('web', {}), says('Well.')], tools: web })
    assert.equal((await crew.kickoff()).raw, 'Well.')
    assert.match(sent(1), /web is executed by the provider of the model; don't call it/)
  })

  test('may leave an answer that is a picture and no text, which is asked for once', async () => {
    const { crew, asked, store } = scene({ turns: [draws], tools: web })
    assert.equal((await crew.kickoff({ id: 'r1' })).raw, '[file image/png]')
    assert.equal(asked.length, 1)
    const { raw, tasks } = await scene({ turns: [], tools: web, store }).crew.run('r1').result()
    assert.deepEqual([raw, tasks[0]?.files.length], ['[file image/png]', 1])
  })

  test('is accepted of every provider', () => {
    const tools = {
      code: openai.tools.codeInterpreter(),
      files: openai.tools.fileSearch({ vectorStoreIds: ['vs_1'] }),
      image: openai.tools.imageGeneration(),
      claude: anthropic.tools.webSearch_20250305({ maxUses: 3 }),
      fetch: anthropic.tools.webFetch_20250910(),
      gemini: google.tools.googleSearch({}),
      context: google.tools.urlContext({}),
    }
    const agent = new Agent({ role: 'A', goal: 'g', tools })
    assert.deepEqual(
      agent.tools.map(({ provider }) => provider?.executed),
      Object.keys(tools).map(() => true),
    )
  })
})

describe('a tool that the provider defines and we execute', () => {
  test('is called with an input that its lazy schema has read', async () => {
    const ran: unknown[] = []
    const bash = anthropic.tools.bash_20250124({
      execute: async ({ command }) => `ran ${ran.push(command)}: ${command}`,
    })
    const { crew, asked, sent } = scene({
      turns: [calls('sh', { command: 'ls' }), says('Listed.')],
      tools: { sh: bash },
    })
    assert.equal((await crew.kickoff()).raw, 'Listed.')
    assert.deepEqual(asked[0]?.tools, [{ type: 'provider', name: 'sh', id: 'anthropic.bash_20250124', args: {} }])
    assert.match(sent(1), /ran 1: ls/)
    const wrong = scene({ turns: [calls('sh', { command: 7 }), says('Oh.')], tools: { sh: bash } })
    await wrong.crew.kickoff()
    assert.match(wrong.sent(1), /the input of sh is not valid: command/)
  })

  test('may take a text, which goes back as a text', async () => {
    const grammar = openai.tools.customTool({ description: 'Math' })
    const { crew, sent } = scene({
      turns: [calls('math', '3 + 4'), says('Seven.')],
      tools: { math: { ...grammar, execute: (input: string) => `${input} = 7` } },
    })
    assert.equal((await crew.kickoff()).raw, 'Seven.')
    assert.match(sent(1), /"toolName":"math","input":"3 \+ 4"/)
    assert.match(sent(1), /3 \+ 4 = 7/)
  })
})

describe('a plain tool of the AI SDK', () => {
  test('that needs approval asks a person: always, or when its function says so', async () => {
    const paid: number[] = []
    const pay = (needsApproval: boolean | ((input: { amount: number }) => boolean)) =>
      aiTool({
        description: 'Pay',
        inputSchema: z.object({ amount: z.number() }),
        needsApproval,
        execute: ({ amount }) => `paid ${paid.push(amount)}`,
      })
    const always = scene({ turns: [calls('pay', { amount: 5 }), says('Paid.')], tools: { pay: pay(true) } })
    const first = await always.crew.kickoff({ id: 'r1' })
    assert.deepEqual([first.status, first.questions[0]?.kind, paid], ['suspended', 'call', []])
    await always.crew.run('r1').answer(first.questions[0]?.id ?? '', { decision: 'approve' })
    assert.equal((await always.crew.resume('r1')).raw, 'Paid.')
    assert.deepEqual(paid, [5])
    const over = pay(({ amount }) => amount > 100)
    const small = scene({ turns: [calls('pay', { amount: 5 }), says('Paid.')], tools: { pay: over } })
    assert.equal((await small.crew.kickoff()).status, 'completed')
    const large = scene({ turns: [calls('pay', { amount: 500 }), says('Paid.')], tools: { pay: over } })
    assert.equal((await large.crew.kickoff()).status, 'suspended')
    const wrong = { ...pay(true), needsApproval: 'yes' }
    assert.match((await refusal(() => tool(wrong, { name: 'pay' }))).message, /needsApproval of tool pay is "yes"/)
  })

  test('has what toModelOutput makes sent to the model, once and for all later lives', async () => {
    await atEveryAppend(async (dying) => {
      let made = 0
      const look = aiTool({
        description: 'Look',
        inputSchema: z.object({}),
        execute: () => ({ width: 1, bytes: new Uint8Array([1, 2]) }),
        toModelOutput: ({ output }) => ({
          type: 'content',
          value: [
            { type: 'text', text: `picture ${++made}` },
            { type: 'file', mediaType: 'image/png', data: { type: 'data', data: output.bytes } },
          ],
        }),
      })
      const tools = [tool(look, { name: 'look', effect: 'read' })]
      const turns = [calls('look', {}), says('Seen.')]
      const store = newStore()
      const first = scene({ turns, tools, store: dying(store) })
      await orDeath(first.crew.kickoff({ id: 'r1' }))
      const returned = (entries: readonly Entry[]) => entries.filter((entry) => entry.type === 'tool.returned')
      const before = returned(await entriesOf(store, 'r1').catch(() => []))
      const second = scene({ turns, tools, store })
      assert.equal((await second.crew.kickoff({ id: 'r1' })).raw, 'Seen.')
      const [entry] = returned(await entriesOf(store, 'r1'))
      if (before.length > 0) assert.deepEqual(entry, before[0])
      assert.deepEqual(entry?.outcome, {
        unreadable: 'look.bytes: an Uint8Array',
        sent: {
          type: 'parts',
          parts: [
            { type: 'text', text: `picture ${made}` },
            { type: 'file', mediaType: 'image/png', base64: 'AQI=' },
          ],
        },
      })
      const whole = first.sent(1) ?? second.sent(second.asked.length - 1)
      if (whole) assert.match(whole, new RegExp(`picture ${made}.*"data":"AQI="`))
    })
  })

  test('keeps its result when toModelOutput throws, and says so', async () => {
    const look = aiTool({
      description: 'Look',
      inputSchema: z.object({}),
      execute: () => 'seen',
      toModelOutput: () => {
        throw new Error('no idea')
      },
    })
    const { crew, sent, warnings } = scene({ turns: [calls('look', {}), says('ok')], tools: { look } })
    assert.equal((await crew.kickoff()).raw, 'ok')
    assert.match(sent(1), /"value":"seen"/)
    assert.deepEqual(warnings, ['tool look: its result is sent to the model unchanged: no idea'])
  })

  test('has strict, examples and options of its provider sent along, and its description made', async () => {
    const options = { strict: true, providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }
    const look = aiTool({
      ...options,
      description: () => 'Look around',
      inputSchema: z.object({ at: z.string() }),
      inputExamples: [{ input: { at: 'door' } }],
      execute: () => 'seen',
    })
    const { crew, asked } = scene({ turns: [says('ok')], tools: { look } })
    await crew.kickoff()
    const [definition] = asked[0]?.tools ?? []
    const { inputSchema: _, ...known } = definition as { inputSchema: unknown }
    const inputExamples = [{ input: { at: 'door' } }]
    assert.deepEqual(known, { type: 'function', name: 'look', description: 'Look around', inputExamples, ...options })
  })

  test('may be dynamic', async () => {
    const look = dynamicTool({
      description: 'Look',
      inputSchema: jsonSchema({ type: 'object', properties: {} }),
      execute: async () => 'seen',
    })
    const { crew, sent } = scene({ turns: [calls('look', {}), says('ok')], tools: { look } })
    await crew.kickoff()
    assert.match(sent(1), /seen/)
  })
})
