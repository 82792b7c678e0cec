import assert from 'node:assert/strict'
import { test } from 'node:test'
import { streamText } from 'ai'
import { callModel } from '../../src/models/call-model.ts'
import { checkModel, modelName } from '../../src/models/resolve/resolve-model.ts'
import { scriptedModel, type ScriptEntry } from '../../src/testing/scripted-model.ts'
import { lookup, requestOf } from './support.ts'

const call = { tool: 'lookup', input: { number: 'P-77' } }
const script: readonly ScriptEntry[] = [
  { when: /facts from/i, calls: [call] },
  { when: /facts from/i, reply: { policy: 'P-77' } },
  { when: 'triage note', reply: (conversation) => `Note on ${conversation.length > 0 ? 'it' : 'nothing'}.` },
]

test('a scripted model makes the calls of an entry once, and then continues with the next matching entry', async () => {
  const model = scriptedModel(script)
  const first = await callModel(
    requestOf({ model, tools: [lookup], messages: [{ role: 'user', text: 'Facts from: x' }] }),
  )
  const [request] = first.parts
  assert.ok(request?.type === 'call')
  assert.deepEqual([request.tool, request.input], [call.tool, call.input])
  const second = await callModel(
    requestOf({
      model,
      tools: [lookup],
      messages: [
        { role: 'user', text: 'Facts from: x' },
        { role: 'assistant', parts: first.parts },
        { role: 'tool', results: [{ id: request.id, tool: 'lookup', outcome: { result: { holder: 'Ada' } } }] },
      ],
    }),
  )
  assert.deepEqual(second.parts, [{ type: 'text', text: '{"policy":"P-77"}' }])
})

test('a scripted model answers a conversation with the same text and ids, however often and wherever', async () => {
  const request = { tools: [lookup], messages: [{ role: 'user', text: 'Facts from: x' }] as const }
  const model = scriptedModel(script)
  const first = await callModel(requestOf({ ...request, model }))
  assert.deepEqual(await callModel(requestOf({ ...request, model })), first)
  assert.deepEqual(await callModel(requestOf({ ...request, model: scriptedModel(script) })), first)
})

test('a script entry can match the number of tool results or the last message', async () => {
  const model = scriptedModel([
    { when: 'hello', after: 1, reply: 'one result' },
    { when: 'hello', after: /again$/, reply: 'asked again' },
    { when: 'hello', after: 0, reply: 'no result' },
  ])
  const say = async (text: string) => (await callModel(requestOf({ model, messages: [{ role: 'user', text }] }))).parts
  assert.deepEqual(await say('hello'), [{ type: 'text', text: 'no result' }])
  assert.deepEqual(await say('hello again'), [{ type: 'text', text: 'asked again' }])
})

test('a script entry can match the instructions, or use a function', async () => {
  const model = scriptedModel([{ when: (conversation) => conversation.includes('You are brief'), reply: 'Yes.' }])
  assert.deepEqual((await callModel(requestOf({ model }))).parts, [{ type: 'text', text: 'Yes.' }])
})

test('a script entry with a global pattern matches every time', async () => {
  const model = scriptedModel([{ when: /hello/g, reply: 'Yes.' }])
  await callModel(requestOf({ model }))
  assert.equal((await callModel(requestOf({ model }))).parts.length, 1)
})

test('a scripted model fails without a retry if no entry matches, and shows the last message and the script', async () => {
  const model = scriptedModel(script)
  const request = requestOf({ model })
  await assert.rejects(callModel(request), {
    code: 'MODEL_FAILED',
    message: /0 tool results whose last message is "hello".*\/facts from\/i/,
  })
  assert.deepEqual(request.waits, [])
})

test('a scripted model can fail like a server', async () => {
  const model = scriptedModel([{ when: 'hello', error: { status: 429, message: 'slow down', retryAfter: 3 } }])
  const request = requestOf({ model, maxRetries: 1 })
  await assert.rejects(callModel(request), {
    message: 'model scripted/script failed after 2 tries: HTTP 429: slow down',
  })
  assert.deepEqual(request.waits, [3000])
})

test('a scripted model keeps its requests', async () => {
  const model = scriptedModel([{ when: 'hello', reply: 'Hi.', usage: { input: 5, output: 1 } }], { name: 'greeter' })
  const reply = await callModel(requestOf({ model, tools: [lookup], output: lookup.schema }))
  assert.deepEqual(reply.usage, { calls: 1, input: 5, output: 1 })
  assert.deepEqual(model.calls, [
    {
      conversation: 'You are brief.\n\nhello',
      instructions: 'You are brief.',
      lastMessage: 'hello',
      tools: ['lookup'],
      output: lookup.schema,
      entry: 0,
    },
  ])
  checkModel(model)
  assert.equal(modelName(model), 'scripted/greeter')
})

test('a scripted model streams the same answer in pieces', async () => {
  const model = scriptedModel([{ when: 'hello', reply: 'One two  three' }])
  const pieces: string[] = []
  for await (const piece of streamText({ model, prompt: 'hello' }).textStream) pieces.push(piece)
  assert.equal(pieces.join(''), 'One two  three')
  assert.equal(pieces.length > 1, true)
})

test('a script entry without an answer is refused', () => {
  assert.throws(() => scriptedModel([{ when: 'hello' }]), { code: 'OPTION_INVALID', message: /entry 0/ })
})
