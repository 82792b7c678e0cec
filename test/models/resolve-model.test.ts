import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { RepriseError } from '../../src/base/errors.ts'
import { callModel } from '../../src/models/call-model.ts'
import { checkModel, defaultModel, modelName, resolveModel } from '../../src/models/resolve/resolve-model.ts'
import { chatReply, environmentOf, openServer, requestOf, sendJson } from './support.ts'

test('an unnamed model is REPRISE_MODEL, or else the documented default', () => {
  {
    using _ = environmentOf({})
    assert.equal(modelName(undefined), defaultModel)
    assert.equal(defaultModel, 'openai/gpt-5-mini')
  }
  using _ = environmentOf({ REPRISE_MODEL: 'ollama/llama3' })
  assert.equal(modelName(undefined), 'ollama/llama3')
})

test('a model object is named by its provider, without the API, and its id', () => {
  assert.equal(modelName(createOpenAI({ apiKey: 'x' })('gpt-5-mini')), 'openai/gpt-5-mini')
  assert.equal(modelName(createOpenAICompatible({ name: 'local', baseURL: 'http://x/v1' })('qwen')), 'local/qwen')
})

test('OpenAI itself is called through responses, and any other base URL through chat completions', async () => {
  {
    using _ = environmentOf({ OPENAI_API_KEY: 'k' })
    assert.equal((await resolveModel('openai/gpt-5-mini')).model.provider, 'openai.responses')
  }
  await using server = await openServer((response) => sendJson(response, 200, chatReply({ content: 'Hi.' })))
  using _ = environmentOf({ OPENAI_BASE_URL: server.url })
  await callModel(requestOf({ model: 'openai/gpt-5-mini' }))
  assert.equal(server.received[0]?.path, '/v1/chat/completions')
  assert.equal(server.received[0]?.headers.authorization, undefined)
})

test('Ollama is called at its base URL without a key', async () => {
  await using server = await openServer((response) => sendJson(response, 200, chatReply({ content: 'Hi.' })))
  using _ = environmentOf({ OLLAMA_BASE_URL: server.url, OPENAI_API_KEY: 'not for ollama' })
  await callModel(requestOf({ model: 'ollama/llama3' }))
  assert.equal(server.received[0]?.body['model'], 'llama3')
  assert.equal(server.received[0]?.headers.authorization, undefined)
})

test('a model name without a provider, or with an alias of one, works as in CrewAI', () => {
  using _ = environmentOf({ OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k', GEMINI_API_KEY: 'k' })
  for (const [written, name] of [
    ['gpt-4o', 'openai/gpt-4o'],
    ['o4-mini', 'openai/o4-mini'],
    ['claude-sonnet-4-5', 'anthropic/claude-sonnet-4-5'],
    ['claude/claude-sonnet-4-5', 'anthropic/claude-sonnet-4-5'],
    ['gemini-2.5-pro', 'google/gemini-2.5-pro'],
    ['gemini/gemini-2.5-pro', 'google/gemini-2.5-pro'],
  ] as const) {
    checkModel(written)
    assert.equal(modelName(written), name)
  }
  assert.equal(modelName('us.amazon.nova-pro-v1:0'), 'bedrock/us.amazon.nova-pro-v1:0')
  assert.equal(modelName('vertex_ai/gemini-2.5-pro'), 'vertex/gemini-2.5-pro')
  assert.equal(modelName('openrouter/openai/gpt-4o'), 'openrouter/openai/gpt-4o')
})

test('an unknown provider is refused with the known ones', () => {
  using _ = environmentOf({})
  const error = refusal('acme/gpt-9000')
  assert.equal(error.code, 'MODEL_INVALID')
  assert.match(
    error.message,
    /"acme\/gpt-9000".*openai, anthropic, google, azure.*ollama.*did you mean "openai\/gpt-9000"/,
  )
  assert.match(refusal('antropic/claude-x').message, /did you mean "anthropic\/claude-x"/)
})

test('a name without a provider that several may serve is refused, with suggestions only if certain', () => {
  using _ = environmentOf({})
  assert.match(refusal('mistral-large').message, /did you mean "mistral\/mistral-large"/)
  assert.match(refusal('deepseek-chat').message, /did you mean "deepseek\/deepseek-chat"/)
  assert.match(refusal('llama3.1:8b').message, /did you mean "ollama\/llama3\.1:8b"/)
  assert.match(refusal('gpt-oss:20b').message, /did you mean "ollama\/gpt-oss:20b"/)
  for (const model of ['house-model', 'llama-3.3-70b', 'qwen3', 'gpt-oss-120b'])
    assert.doesNotMatch(refusal(model).message, /did you mean/)
  assert.equal(refusal('openai/').code, 'MODEL_INVALID')
  assert.equal(refusal('constructor/x').code, 'MODEL_INVALID')
  assert.equal(refusal('/x').code, 'MODEL_INVALID')
})

test('a wrong name from REPRISE_MODEL is refused with the variable', () => {
  using _ = environmentOf({ REPRISE_MODEL: 'house-model' })
  assert.match(refusal(undefined).message, /from REPRISE_MODEL/)
})

test('a missing key is refused before anything is sent, with the variable', async () => {
  using _ = environmentOf({ OPENAI_API_KEY: '' })
  const error = refusal('openai/gpt-5-mini')
  assert.equal(error.code, 'MODEL_KEY_MISSING')
  assert.match(error.message, /set OPENAI_API_KEY$/)
  await assert.rejects(callModel(requestOf({ model: 'openai/gpt-5-mini' })), { code: 'MODEL_KEY_MISSING' })
})

test('an invalid address is refused without its password, even after a line break', () => {
  using _ = environmentOf({ OPENAI_BASE_URL: 'ftp://name:\nsecret@here' })
  assert.match(refusal('openai/m').message, /OPENAI_BASE_URL is "here"/)
})

test('an object other than a model is refused', () => {
  assert.throws(() => checkModel({} as never), { code: 'MODEL_INVALID' })
  assert.throws(() => checkModel(null as never), { code: 'MODEL_INVALID' })
})

test('a key that a model object lacks is a missing key', async () => {
  using _ = environmentOf({})
  await assert.rejects(callModel(requestOf({ model: createOpenAI({})('gpt-5-mini') })), { code: 'MODEL_KEY_MISSING' })
})

function refusal(model: string | undefined): RepriseError {
  try {
    checkModel(model)
  } catch (error) {
    return error as RepriseError
  }
  return assert.fail(`${model} was not refused`)
}
