import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ToolRequest } from '../../src/journal/entries.ts'
import { callModel } from '../../src/models/call-model.ts'
import { chatReply, environmentOf, lookup, openMock, openServer, requestOf, sendJson } from './support.ts'

test('a model call returns the text, the usage and the stop reason of a plain reply', async () => {
  await using mock = await openMock()
  using _ = environmentOf({ OPENAI_API_KEY: 'test-key', OPENAI_BASE_URL: `${mock.url}/v1` })
  mock.onMessage('hello', { content: 'Hi.', usage: { prompt_tokens: 11, completion_tokens: 2 }, model: 'gpt-test' })
  const reply = await callModel(requestOf())
  assert.deepEqual(reply, {
    parts: [{ type: 'text', text: 'Hi.' }],
    usage: { calls: 1, input: 11, output: 2, cacheRead: 0, reasoning: 0 },
    finish: 'stop',
    startedAt: '2030-01-01T00:00:00.000Z',
    tries: [],
  })
})

test("a model call names the model that answered if it isn't the requested one", async () => {
  await using mock = await openMock()
  using _ = environmentOf({ OPENAI_BASE_URL: `${mock.url}/v1` })
  mock.onMessage('hello', { content: 'Hi.', model: 'gpt-test-2030-01-01' })
  assert.equal((await callModel(requestOf())).model, 'gpt-test-2030-01-01')
})

test('a model call returns two parallel tool calls in order without executing them', async () => {
  await using mock = await openMock()
  using _ = environmentOf({ OPENAI_BASE_URL: `${mock.url}/v1` })
  mock.onMessage('hello', {
    toolCalls: [
      { id: 'a', name: 'lookup', arguments: '{"number":"P-1"}' },
      { id: 'b', name: 'lookup', arguments: '{"number":"P-2"}' },
    ],
  })
  const { parts } = await callModel(requestOf({ tools: [lookup] }))
  assert.deepEqual(parts, [
    { type: 'call', id: 'a', tool: 'lookup', input: { number: 'P-1' } },
    { type: 'call', id: 'b', tool: 'lookup', input: { number: 'P-2' } },
  ])
})

test('a model call distinguishes two tool calls to which a server gave the same id', async () => {
  await using server = await openServer((response) =>
    sendJson(response, 200, chatReply({ tool_calls: [wireCall('x', 'P-1'), wireCall('x', 'P-2')] })),
  )
  using _ = environmentOf({ OPENAI_BASE_URL: server.url })
  const { parts } = await callModel(requestOf({ tools: [lookup] }))
  assert.deepEqual(parts, [
    { type: 'call', id: 'x', tool: 'lookup', input: { number: 'P-1' } },
    { type: 'call', id: 'x-2', tool: 'lookup', input: { number: 'P-2' } },
  ])
})

test('a model call marks a tool call whose arguments are broken JSON and keeps them', async () => {
  await using mock = await openMock()
  using _ = environmentOf({ OPENAI_BASE_URL: `${mock.url}/v1` })
  mock.onMessage('hello', { toolCalls: [{ id: 'a', name: 'lookup', arguments: '{"number":' }] })
  const [part] = (await callModel(requestOf({ tools: [lookup] }))).parts
  assert.ok(part?.type === 'call')
  assert.equal(part.input, '{"number":')
  assert.match(part.invalid ?? '', /lookup is not valid JSON.*\{"number":/)
})

test('a model call marks a call of an unknown tool and names the known ones', async () => {
  await using mock = await openMock()
  using _ = environmentOf({ OPENAI_BASE_URL: `${mock.url}/v1` })
  mock.onMessage('hello', { toolCalls: [{ id: 'a', name: 'destroy', arguments: '{}' }] })
  const [part] = (await callModel(requestOf({ tools: [lookup] }))).parts
  assert.ok(part?.type === 'call')
  assert.equal(part.invalid, 'There is no tool called "destroy". The tools are: lookup.')
})

test('a model call keeps a tool call that the model makes although it must not', async () => {
  await using mock = await openMock()
  using _ = environmentOf({ OPENAI_BASE_URL: `${mock.url}/v1` })
  mock.onMessage('hello', { toolCalls: [{ id: 'a', name: 'lookup', arguments: '{"number":"P-1"}' }] })
  const reply = await callModel(requestOf({ tools: [lookup], toolChoice: 'none' }))
  assert.equal(reply.parts[0]?.type, 'call')
  assert.equal(body(mock.getLastRequest())['tool_choice'], 'none')
})

test('a model call sends the schema of the answer, and returns a reply that does not fit it unchanged', async () => {
  await using mock = await openMock()
  using _ = environmentOf({ OPENAI_BASE_URL: `${mock.url}/v1` })
  mock.onMessage('hello', { content: 'not JSON at all' })
  const reply = await callModel(requestOf({ output: lookup.schema }))
  assert.deepEqual(reply.parts, [{ type: 'text', text: 'not JSON at all' }])
  const format = body(mock.getLastRequest())['response_format'] as { json_schema: { schema: unknown; strict: boolean } }
  assert.deepEqual(format.json_schema.schema, lookup.schema)
  assert.equal(format.json_schema.strict, true)
})

test('a model call leaves strict mode for a schema with optional members, which strict mode refuses', async () => {
  await using mock = await openMock()
  using _ = environmentOf({ OPENAI_BASE_URL: `${mock.url}/v1` })
  mock.onMessage('hello', { content: '{}' })
  await callModel(requestOf({ output: { ...lookup.schema, required: [] } }))
  const format = body(mock.getLastRequest())['response_format'] as { json_schema: { strict: boolean } }
  assert.equal(format.json_schema.strict, false)
})

test('a model call sends the settings that it knows', async () => {
  await using mock = await openMock()
  using _ = environmentOf({ OPENAI_BASE_URL: `${mock.url}/v1` })
  mock.onMessage('hello', { content: 'Hi.' })
  await callModel(requestOf({ settings: { temperature: 0.2, maxOutputTokens: 50, timeoutSeconds: 5 } }))
  const sent = body(mock.getLastRequest())
  assert.equal(sent['temperature'], 0.2)
  assert.equal(sent['max_tokens'], 50)
})

test('a model call continues a conversation with tool results in the order of the calls', async () => {
  await using server = await openServer((response) => sendJson(response, 200, chatReply({ content: 'Done.' })))
  using _ = environmentOf({ OPENAI_BASE_URL: server.url })
  await callModel(
    requestOf({
      tools: [lookup],
      messages: [
        { role: 'user', text: 'hello' },
        {
          role: 'assistant',
          parts: [{ type: 'text', text: '' }, call('a', '1'), call('b', '2'), call('c', '3'), call('d', '4')],
        },
        {
          role: 'tool',
          results: [
            { id: 'a', tool: 'lookup', outcome: { result: { holder: 'Ada' } } },
            { id: 'b', tool: 'lookup', outcome: { error: 'no such policy' } },
            { id: 'c', tool: 'lookup', outcome: { denied: 'too dear' } },
            { id: 'd', tool: 'lookup', outcome: { unreadable: 'result.since' } },
          ],
        },
      ],
    }),
  )
  const messages = server.received[0]?.body['messages'] as {
    role: string
    content: string | null
    tool_calls?: unknown[]
  }[]
  assert.deepEqual(
    messages.map(({ role, content }) => [role, content]),
    [
      ['system', 'You are brief.'],
      ['user', 'hello'],
      ['assistant', null],
      ['tool', '{"holder":"Ada"}'],
      ['tool', 'Error: no such policy'],
      ['tool', 'The call was denied by a person and not made: too dear'],
      [
        'tool',
        'The call was made, but its result could not be read: it contains a value that is not JSON (result.since).',
      ],
    ],
  )
  assert.equal(messages[2]?.tool_calls?.length, 4)
})

function body(entry: { readonly body: unknown } | null): { readonly [key: string]: unknown } {
  return entry?.body as { readonly [key: string]: unknown }
}

function call(id: string, number: string): ToolRequest {
  return { type: 'call', id, tool: 'lookup', input: { number } }
}

function wireCall(id: string, number: string): object {
  return { id, type: 'function', function: { name: 'lookup', arguments: JSON.stringify({ number }) } }
}
