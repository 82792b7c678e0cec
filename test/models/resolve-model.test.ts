import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { RepriseError } from '../../src/base/errors.ts'
import { callModel } from '../../src/models/call-model.ts'
import { checkModel, defaultModel, modelName, resolveModel } from '../../src/models/resolve/resolve-model.ts'
import { chatReply, environmentOf, openServer, requestOf, sendJson } from './support.ts'

test('means the documented default when nothing is named, and REPRISE_MODEL before it', () => {
  {
    using _ = environmentOf({})
    assert.equal(modelName(undefined), defaultModel)
    assert.equal(defaultModel, 'openai/gpt-5-mini')
  }
  using _ = environmentOf({ REPRISE_MODEL: 'ollama/llama3' })
  assert.equal(modelName(undefined), 'ollama/llama3')
})

test('names a model object by its provider, without the API that it speaks, and its id', () => {
  assert.equal(modelName(createOpenAI({ apiKey: 'x' })('gpt-5-mini')), 'openai/gpt-5-mini')
  assert.equal(modelName(createOpenAICompatible({ name: 'local', baseURL: 'http://x/v1' })('qwen')), 'local/qwen')
})

test('asks OpenAI itself through responses, and any other base URL through chat completions', async () => {
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

test('asks Ollama at its base URL without a key', async () => {
  await using server = await openServer((response) => sendJson(response, 200, chatReply({ content: 'Hi.' })))
  using _ = environmentOf({ OLLAMA_BASE_URL: server.url, OPENAI_API_KEY: 'not for ollama' })
  await callModel(requestOf({ model: 'ollama/llama3' }))
  assert.equal(server.received[0]?.body['model'], 'llama3')
  assert.equal(server.received[0]?.headers.authorization, undefined)
})

test('takes a name without a provider, and one with another name of it, as CrewAI does', () => {
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

test('refuses an unknown provider and names those that there are', () => {
  using _ = environmentOf({})
  const error = refusal('acme/gpt-9000')
  assert.equal(error.code, 'MODEL_INVALID')
  assert.match(
    error.message,
    /"acme\/gpt-9000".*openai, anthropic, google, azure.*ollama.*did you mean "openai\/gpt-9000"/,
  )
  assert.match(refusal('antropic/claude-x').message, /did you mean "anthropic\/claude-x"/)
})

test('refuses a name without a provider that several may serve, and suggests only what is sure', () => {
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

test('says that a wrong name came from REPRISE_MODEL', () => {
  using _ = environmentOf({ REPRISE_MODEL: 'house-model' })
  assert.match(refusal(undefined).message, /from REPRISE_MODEL/)
})

test('refuses a missing key before anything is sent, naming the variable', async () => {
  using _ = environmentOf({ OPENAI_API_KEY: '' })
  const error = refusal('openai/gpt-5-mini')
  assert.equal(error.code, 'MODEL_KEY_MISSING')
  assert.match(error.message, /set OPENAI_API_KEY$/)
  await assert.rejects(callModel(requestOf({ model: 'openai/gpt-5-mini' })), { code: 'MODEL_KEY_MISSING' })
})

test('shows nothing of a password in an address that is none, though a line break stands before it', () => {
  using _ = environmentOf({ OPENAI_BASE_URL: 'ftp://name:\nsecret@here' })
  assert.match(refusal('openai/m').message, /OPENAI_BASE_URL is "here"/)
})

test('refuses an object that is no model', () => {
  assert.throws(() => checkModel({} as never), { code: 'MODEL_INVALID' })
  assert.throws(() => checkModel(null as never), { code: 'MODEL_INVALID' })
})

test('takes a key that a model object misses for a missing key', async () => {
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
