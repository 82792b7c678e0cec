import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { callModel } from '../../src/models/call-model.ts'
import { lookup, openMock, openServer, requestOf, sendJson } from './support.ts'

const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'ENCRYPTED' }
const remark = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  phase: 'commentary',
  content: [{ type: 'output_text', text: 'Let me see.', annotations: [] }],
}
const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'lookup', arguments: '{"number":"P-1"}' }

function responsesReply(output: readonly object[]): object {
  return {
    id: 'resp_1',
    created_at: 1,
    model: 'gpt-5-mini',
    output,
    usage: {
      input_tokens: 20,
      output_tokens: 9,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens_details: { reasoning_tokens: 5 },
    },
  }
}

test('a model object of OpenAI uses the responses API', async () => {
  await using mock = await openMock()
  mock.onMessage('hello', { content: 'Hi.' })
  const model = createOpenAI({ apiKey: 'k', baseURL: `${mock.url}/v1` })('gpt-5-mini')
  const reply = await callModel(requestOf({ model }))
  const last = reply.parts.at(-1)
  assert.equal(last?.type === 'text' && last.text, 'Hi.')
  assert.equal(mock.getLastRequest()?.path, '/v1/responses')
})

test('OpenAI is told to store nothing, and to return reasoning encrypted', async () => {
  await using server = await openServer((response) => sendJson(response, 200, responsesReply([reasoning, call])))
  const model = createOpenAI({ apiKey: 'k', baseURL: server.url })('gpt-5-mini')
  const reply = await callModel(requestOf({ model, tools: [lookup] }))
  assert.equal(server.received[0]?.body['store'], false)
  assert.deepEqual(server.received[0]?.body['include'], ['reasoning.encrypted_content'])
  assert.deepEqual(reply.usage, { calls: 1, input: 20, output: 9, cacheRead: 4, reasoning: 5 })
})

test('the next request from a reply that went through JSON has its reasoning, remarks and calls unchanged', async () => {
  await using server = await openServer((response) =>
    sendJson(response, 200, responsesReply([reasoning, remark, call])),
  )
  const model = createOpenAI({ apiKey: 'k', baseURL: server.url })('gpt-5-mini')
  const { parts } = await callModel(requestOf({ model, tools: [lookup] }))
  assert.deepEqual(
    parts.map((part) => part.type),
    ['reasoning', 'reasoning', 'call'],
  )
  await callModel(
    requestOf({
      model,
      tools: [lookup],
      messages: [
        { role: 'user', text: 'hello' },
        { role: 'assistant', parts: JSON.parse(JSON.stringify(parts)) as typeof parts },
        { role: 'tool', results: [{ id: 'call_1', tool: 'lookup', outcome: { result: 'no such policy' } }] },
      ],
    }),
  )
  const input = server.received[1]?.body['input'] as { [key: string]: unknown }[]
  assert.deepEqual(
    input.slice(2).map((item) => item['type'] ?? item['role']),
    ['reasoning', 'assistant', 'function_call', 'function_call_output'],
  )
  assert.equal(input[2]?.['encrypted_content'], 'ENCRYPTED')
  assert.equal(input[3]?.['phase'], 'commentary')
  assert.deepEqual(
    [input[4]?.['call_id'], input[5]?.['call_id'], input[5]?.['output']],
    ['call_1', 'call_1', 'no such policy'],
  )
})

test('a user may store at OpenAI after all', async () => {
  await using server = await openServer((response) => sendJson(response, 200, responsesReply([call])))
  const model = createOpenAI({ apiKey: 'k', baseURL: server.url })('gpt-5-mini')
  const settings = { providerOptions: { openai: { store: true } } }
  await callModel(requestOf({ model, tools: [lookup], settings }))
  assert.equal(server.received[0]?.body['store'], true)
})

test('warnings about what a provider cannot do are returned, not printed', async () => {
  await using server = await openServer((response) => sendJson(response, 200, responsesReply([call])))
  const model = createOpenAI({ apiKey: 'k', baseURL: server.url })('gpt-5-mini')
  const warnings: string[] = []
  const printed: string[] = []
  const listen = (warning: Error): void => void printed.push(warning.message)
  process.on('warning', listen)
  await callModel(requestOf({ model, settings: { stopSequences: ['x'] }, warn: (text) => warnings.push(text) }))
  process.off('warning', listen)
  assert.deepEqual(warnings, ['unsupported stopSequences'])
  assert.deepEqual(printed, [])
})
