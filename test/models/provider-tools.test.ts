// Tools that providers execute within a reply, over their own protocols: the parts are kept, and sent back as each
// provider wants.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import type { ChatMessage, ReplyPart, ToolDefinition } from '../../src/journal/entries.ts'
import { callModel, type ModelReply, type ModelRequest } from '../../src/models/call-model.ts'
import type { LanguageModel } from '../../src/models/resolve/resolve-model.ts'
import {
  claudeReply,
  claudeSearch,
  geminiReply,
  openaiReply,
  png,
  sendReply,
  type Reply,
} from './provider-protocols.ts'
import { chatReply, environmentOf, lookup, openServer, requestOf, sendJson, type Received } from './support.ts'

const schema = { type: 'object', properties: {} }

function providerTool(name: string, id: string, more: object = {}): ToolDefinition {
  return { name, description: '', schema, provider: { id, args: {}, executed: true, ...more } }
}

const openai = (url: string) => createOpenAI({ apiKey: 'k', baseURL: url })('gpt-5-mini')
const anthropic = (url: string) => createAnthropic({ apiKey: 'k', baseURL: url })('claude-sonnet-4-5')
const google = (url: string) => createGoogle({ apiKey: 'k', baseURL: url })('gemini-2.5-flash')
const claudeTool = providerTool('web', 'anthropic.web_search_20250305', { deferred: true })

describe('a tool that the provider executes:', () => {
  test("OpenAI's search and its sources are kept and sent back", async () => {
    const tools = [providerTool('web', 'openai.web_search'), lookup]
    const { parts, next, asked } = await twice(openai, openaiReply({ call: true }), tools)
    assert.deepEqual(parts.map(kindOf), ['provider-call web', 'provider-result web', 'text', 'call lookup', 'source'])
    assert.deepEqual((asked['tools'] as object[])[0], { type: 'web_search' })
    const input = next['input'] as { type?: string; id?: string; action?: object }[]
    assert.deepEqual(input.map(({ type }) => type).filter(Boolean), [
      'web_search_call',
      'function_call',
      'function_call_output',
    ])
    const search = input.find(({ type }) => type === 'web_search_call')
    assert.equal(search?.id, 'ws_1')
    assert.match(JSON.stringify(search), /floods/)
  })

  test("Anthropic's search goes back with its encrypted content, and a thought with its signature", async () => {
    const call = { type: 'tool_use', id: 'tu_1', name: 'lookup', input: { number: 'P-1' } }
    const { parts, next, asked } = await twice(anthropic, claudeReply([...claudeSearch, call], 'tool_use'), [
      claudeTool,
      lookup,
    ])
    assert.deepEqual(parts.map(kindOf), [
      'reasoning',
      'provider-call web',
      'provider-result web',
      'text',
      'call lookup',
      'source',
    ])
    assert.equal((asked['tools'] as { type?: string }[])[0]?.type, 'web_search_20250305')
    const said = (next['messages'] as { role: string; content: object[] }[]).find(({ role }) => role === 'assistant')
    assert.deepEqual(JSON.parse(JSON.stringify(said?.content)), JSON.parse(JSON.stringify([...claudeSearch, call])))
  })

  test("Google's executed code and a picture with its signature go back, and the pages are sources", async () => {
    const tools = [providerTool('code', 'google.code_execution'), providerTool('web', 'google.google_search')]
    const { parts, next } = await twice(google, geminiReply(), tools)
    assert.deepEqual(parts.map(kindOf), ['provider-call code', 'provider-result code', 'text', 'file', 'source'])
    const picture = parts.find((part) => part.type === 'file')
    assert.ok(picture && 'base64' in picture && picture.base64 === png)
    assert.match(
      JSON.stringify(next['contents']),
      new RegExp(`"data":"${png.slice(0, 20).replaceAll('+', '\\+')}.*SIGNED`),
    )
  })

  test('a reply that Anthropic pauses is marked, and continued from its text so far', async () => {
    const paused = claudeReply(claudeSearch.slice(0, 2), 'pause_turn')
    const { reply, next } = await twice(anthropic, paused, [claudeTool])
    assert.equal(reply.paused, true)
    const messages = next['messages'] as { role: string; content: { type: string }[] }[]
    assert.deepEqual(
      messages.at(-1)?.content.map(({ type }) => type),
      ['thinking', 'server_tool_use'],
    )
  })

  test('a result that arrives a reply later than its call is kept', async () => {
    const late = claudeReply(claudeSearch.slice(2))
    const { parts, reply } = await twice(anthropic, late, [claudeTool])
    assert.deepEqual(parts.map(kindOf), ['provider-result web', 'text', 'source'])
    assert.equal(reply.paused, undefined)
  })

  test('a result of an unknown call of an unknown tool does not lose the reply', async () => {
    const { parts } = await twice(anthropic, claudeReply(claudeSearch.slice(2)), [])
    assert.deepEqual(parts.map(kindOf), ['provider-result web_search', 'text', 'source'])
  })
})

describe('an image in the result of a tool', () => {
  const parts = [
    { type: 'text', text: 'The screen:' },
    { type: 'file', mediaType: 'image/png', base64: png },
  ] as const
  const seen: readonly ChatMessage[] = [
    { role: 'user', text: 'hello' },
    { role: 'assistant', parts: [{ type: 'call', id: 'c1', tool: 'lookup', input: { number: 'P-1' } }] },
    {
      role: 'tool',
      results: [{ id: 'c1', tool: 'lookup', outcome: { result: 'left out', sent: { type: 'parts', parts } } }],
    },
  ]

  test('is an image for OpenAI, Anthropic and Google, inside the result', async () => {
    const bodies = await Promise.all([
      sentTo(openai, openaiReply().whole),
      sentTo(anthropic, claudeReply(claudeSearch.slice(3)).whole),
      sentTo(google, geminiReply().whole),
    ])
    const [first, second, third] = bodies.map((body) => JSON.stringify(body))
    assert.match(first ?? '', /"function_call_output"[^{]*"output":\[\{[^}]*The screen:[^}]*\},\{"type":"input_image"/)
    assert.match(second ?? '', /"tool_result".*The screen:.*"type":"image".*"media_type":"image\/png"/)
    assert.match(third ?? '', /"functionResponse".*The screen:.*"inlineData":\{"mimeType":"image\/png"/)
  })

  test('follows the result as a user message if results are texts', async () => {
    using _ = environmentOf({})
    const body = await sentTo(
      (url) => createOpenAI({ apiKey: 'k', baseURL: url }).chat('gpt-4o'),
      chatReply({ content: 'ok' }),
    )
    const [result, follows] = (body['messages'] as { role: string; content: unknown }[]).slice(-2)
    assert.equal(result?.role, 'tool')
    assert.match(String(result?.content), /^The screen:\n\(image\/png, \d+ bytes, shown below\)$/)
    assert.equal(follows?.role, 'user')
    assert.match(
      JSON.stringify(follows?.content),
      /What lookup returned:.*"image_url":\{"url":"data:image\/png;base64,iVBOR/,
    )
  })

  test('is described to a model that refuses images, at once and with a warning', async () => {
    const warnings: string[] = []
    await using server = await openServer((response) =>
      /image_url/.test(JSON.stringify(server.received.at(-1)?.body))
        ? sendJson(response, 400, { error: { message: 'this model does not support image input' } })
        : sendJson(response, 200, chatReply({ content: 'I see nothing.' })),
    )
    using _ = environmentOf({ OPENAI_BASE_URL: server.url })
    const reply = await callModel(
      requestOf({ messages: seen, tools: [lookup], maxRetries: 0, warn: (words) => void warnings.push(words) }),
    )
    assert.deepEqual(reply.parts, [{ type: 'text', text: 'I see nothing.' }])
    assert.match(reply.tries[0]?.error ?? '', /does not support image input/)
    assert.match(JSON.stringify(server.received.at(-1)?.body), /image\/png, \d+ bytes, left out/)
    assert.deepEqual(warnings, ['the model does not accept images, so images in tool results were left out'])
  })

  async function sentTo(model: (url: string) => LanguageModel, answer: object): Promise<Received['body']> {
    await using server = await openServer((response) => sendJson(response, 200, answer))
    await callModel(requestOf({ model: model(server.url), messages: seen, tools: [lookup] }))
    return server.received[0]?.body ?? {}
  }
})

/** The reply in one piece and streamed, which must be equal, and the next request. */
async function twice(
  model: (url: string) => LanguageModel,
  answer: Reply,
  tools: readonly ToolDefinition[],
): Promise<{
  parts: readonly ReplyPart[]
  reply: ModelReply
  asked: Received['body']
  next: Received['body']
}> {
  await using server = await openServer((response) => sendReply(response, answer, isStream(server.received.at(-1))))
  const request = { model: model(server.url), tools }
  const listener = { listening: () => true, onDelta: () => {}, reset: () => {} }
  const streamed = await callModel(requestOf({ ...request, listener }))
  const reply = await callModel(requestOf(request))
  assert.deepEqual(withoutMadeIds(streamed), withoutMadeIds(reply))
  assert.deepEqual(streamed.tries, [])
  // as it comes back from a journal
  const said = JSON.parse(JSON.stringify(reply.parts)) as ReplyPart[]
  const results = said.flatMap((part) =>
    part.type === 'call' ? [{ id: part.id, tool: part.tool, outcome: { result: 'found' } }] : [],
  )
  const messages: ModelRequest['messages'] = [
    { role: 'user', text: 'hello' },
    { role: 'assistant', parts: said },
    ...(results.length > 0 ? [{ role: 'tool' as const, results }] : []),
  ]
  await callModel(requestOf({ ...request, messages }))
  return { parts: said, reply, asked: server.received[1]?.body ?? {}, next: server.received.at(-1)?.body ?? {} }
}

function isStream(received: Received | undefined): boolean {
  return received?.body['stream'] === true || /streamGenerateContent/.test(received?.path ?? '')
}

/** Removes the ids that packages make up if servers send none. */
function withoutMadeIds({ parts, ...reply }: ModelReply): object {
  return {
    ...reply,
    parts: parts.map((part) => ('id' in part && !/^(ws|srv)_/.test(part.id) ? { ...part, id: '' } : part)),
  }
}

function kindOf(part: ReplyPart): string {
  return 'tool' in part ? `${part.type} ${part.tool}` : part.type
}
