// The requirements of every provider of the table, and the address of its requests.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { testPackages } from '../../scripts/test-packages.ts'
import { callModel } from '../../src/models/call-model.ts'
import { readModelName } from '../../src/models/resolve/model-names.ts'
import { checkProvider } from '../../src/models/resolve/provider-access.ts'
import { findProvider, providers, type Provider } from '../../src/models/resolve/providers.ts'
import { checkModel, resolveModel } from '../../src/models/resolve/resolve-model.ts'
import { chatReply, environmentOf, openServer, requestOf, sendJson } from './support.ts'

test('every provider is found by each of its names, and no two share one', () => {
  const names = providers.flatMap((provider) => [provider.name, ...(provider.aliases ?? [])])
  assert.deepEqual(names, [...new Set(names)])
  for (const name of names) assert.equal(readModelName(`${name}/m`)?.name, `${findProvider(name)?.name}/m`)
})

test('every package of a provider is an optional peer of Reprise, and installed for the tests', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
  for (const name of providers.flatMap((provider) => provider.package ?? [])) {
    assert.match(manifest.peerDependencies[name] ?? '', /^\^\d+\.0\.0$/, name)
    assert.deepEqual(manifest.peerDependenciesMeta[name], { optional: true }, name)
    assert.ok(testPackages.includes(name) || manifest.devDependencies[name], name)
    assert.equal(manifest.dependencies[name], undefined, name)
  }
})

for (const provider of providers) {
  if (provider.package !== undefined) {
    test(`${provider.name} says which package to install`, () => {
      using _ = environmentOf({})
      assert.throws(() => check({ ...provider, package: '@ai-sdk/not-there' }), {
        code: 'MODEL_INVALID',
        message: `model ${provider.name}/m needs a package: run npm install @ai-sdk/not-there`,
      })
    })
  }

  if (provider.name !== 'ollama') {
    test(`${provider.name} says which variables to set, and needs no others`, () => {
      using _ = environmentOf({})
      const toSet = provider.variablesToSet ?? provider.keys.slice(0, 1)
      for (const variable of toSet) {
        assert.throws(() => check(provider), {
          code: 'MODEL_KEY_MISSING',
          message: new RegExp(`^model ${provider.name}/m needs .*\\b${variable}\\b`),
        })
        process.env[variable] = 'given'
      }
      check(provider)
    })
  }

  for (const variable of provider.keys) {
    test(`${provider.name} refuses a key in ${variable} that no request can carry`, () => {
      using _ = environmentOf({ ...everything(provider), [variable]: 'half\nother' })
      assert.throws(() => check(provider), {
        code: 'MODEL_KEY_MISSING',
        message: new RegExp(`: ${variable} contains a line break`),
      })
    })
  }

  for (const variable of provider.addresses) {
    test(`${provider.name} refuses an invalid address in ${variable}`, () => {
      const settings = { ...everything(provider), ...Object.fromEntries(provider.keys.map((key) => [key, 'given'])) }
      using _ = environmentOf({ ...settings, [variable]: 'host/v1' })
      assert.throws(() => check(provider), { code: 'MODEL_INVALID', message: new RegExp(`: ${variable} is "host/v1"`) })
    })
  }
}

test('the first set variable of a key counts, and the other is ignored', () => {
  using _ = environmentOf({ GOOGLE_GENERATIVE_AI_API_KEY: 'fine', GEMINI_API_KEY: 'half\nother' })
  checkModel('google/m')
})

test('Bedrock accepts an access key instead of its own key, and needs both halves of it and a region', () => {
  {
    using _ = environmentOf({ AWS_ACCESS_KEY_ID: 'id', AWS_REGION: 'eu-west-1' })
    assert.throws(() => checkModel('bedrock/m'), { message: /needs credentials: .* AWS_SECRET_ACCESS_KEY/ })
  }
  using _ = environmentOf({ AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' })
  assert.throws(() => checkModel('bedrock/m'), { message: /needs a region: set AWS_REGION/ })
  process.env['AWS_DEFAULT_REGION'] = 'eu-west-1'
  checkModel('bedrock/m')
})

test('Vertex accepts a key instead of a project, but not for Claude', () => {
  using _ = environmentOf({ GOOGLE_VERTEX_API_KEY: 'k' })
  checkModel('vertex/gemini-2.5-pro')
  assert.throws(() => checkModel('vertex/claude-sonnet-4-5'), {
    code: 'MODEL_KEY_MISSING',
    message: /needs a project: set GOOGLE_VERTEX_PROJECT or GOOGLE_CLOUD_PROJECT$/,
  })
})

for (const [model, published] of [
  ['vertex/gemini-2.5-pro', 'google'],
  ['vertex/claude-sonnet-4-5', 'anthropic'],
] as const) {
  test(`${model} is called with a token of Google Cloud, which is fetched once`, async () => {
    const token = { access_token: 'ya29.none', expires_in: 3600, token_type: 'Bearer' }
    await using server = await openServer((response, _count, { path }) =>
      path.includes('/publishers/')
        ? sendJson(response, 400, { error: { message: 'no' } })
        : sendJson(response, 200, token, { 'metadata-flavor': 'Google' }),
    )
    const host = new URL(server.url).host
    using _ = environmentOf({
      GOOGLE_CLOUD_PROJECT: 'p',
      GOOGLE_CLOUD_LOCATION: 'global',
      GOOGLE_VERTEX_BASE_URL: server.url,
      GCE_METADATA_HOST: host,
      GOOGLE_APPLICATION_CREDENTIALS: '',
      CLOUDSDK_CONFIG: '/nowhere',
    })
    for (let call = 0; call < 2; call++) await assert.rejects(callModel(requestOf({ model, maxRetries: 0 })))
    const calls = server.received.filter(({ path }) => path.includes(`/publishers/${published}/models/`))
    assert.deepEqual(
      calls.map(({ headers }) => headers.authorization),
      ['Bearer ya29.none', 'Bearer ya29.none'],
    )
    assert.equal(server.received.filter(({ path }) => path.includes('/token')).length, 1)
  })
}

test('Azure is refused a resource name that would send the key to another host', () => {
  using _ = environmentOf({ AZURE_API_KEY: 'k', AZURE_RESOURCE_NAME: 'x@evil.example/#' })
  assert.throws(() => checkModel('azure/m'), {
    message: /AZURE_RESOURCE_NAME is "x@evil\.example\/#"; set it to letters/,
  })
})

/** The path that is asked for, by what an address is given as. */
const paths: readonly (readonly [variable: string, model: string, given: string, path: string])[] = [
  ['ANTHROPIC_BASE_URL', 'anthropic/m', '', '/v1/messages'],
  ['ANTHROPIC_BASE_URL', 'anthropic/m', '/', '/v1/messages'],
  ['ANTHROPIC_BASE_URL', 'anthropic/m', '/v1', '/v1/messages'],
  ['ANTHROPIC_BASE_URL', 'anthropic/m', '/v1/', '/v1/messages'],
  ['ANTHROPIC_BASE_URL', 'anthropic/m', '/proxy', '/proxy/v1/messages'],
  ['GOOGLE_GENERATIVE_AI_BASE_URL', 'google/m', '', '/v1beta/models/m:generateContent'],
  ['GOOGLE_GEMINI_BASE_URL', 'google/m', '/v1beta', '/v1beta/models/m:generateContent'],
  ['OPENAI_BASE_URL', 'openai/m', '', '/chat/completions'],
  ['OPENAI_API_BASE', 'openai/m', '/v1', '/v1/chat/completions'],
  ['MISTRAL_BASE_URL', 'mistral/m', '', '/v1/chat/completions'],
  ['GROQ_BASE_URL', 'groq/m', '', '/openai/v1/chat/completions'],
  ['XAI_BASE_URL', 'xai/m', '', '/v1/responses'],
  ['DEEPSEEK_BASE_URL', 'deepseek/m', '', '/chat/completions'],
  ['COHERE_BASE_URL', 'cohere/m', '', '/v2/chat'],
  ['OPENROUTER_BASE_URL', 'openrouter/a/m', '', '/api/v1/chat/completions'],
  ['TOGETHER_BASE_URL', 'together/a/m', '', '/v1/chat/completions'],
  ['FIREWORKS_BASE_URL', 'fireworks/a/m', '', '/inference/v1/chat/completions'],
  ['OLLAMA_BASE_URL', 'ollama/m', '', '/v1/chat/completions'],
  ['OLLAMA_API_BASE', 'ollama/m', '/v1', '/v1/chat/completions'],
  ['AZURE_BASE_URL', 'azure/m', '', '/openai/v1/responses'],
  ['AZURE_OPENAI_ENDPOINT', 'azure/m', '/openai/v1/', '/openai/v1/responses'],
  ['AZURE_API_BASE', 'azure/m', '/openai/deployments/m', '/openai/v1/responses'],
  ['AWS_ENDPOINT_URL_BEDROCK_RUNTIME', 'bedrock/a.m:0', '', '/model/a.m%3A0/converse'],
  ['GOOGLE_VERTEX_BASE_URL', 'vertex/m', '/v1', '/v1/publishers/google/models/m:generateContent'],
]

for (const [variable, model, given, path] of paths) {
  test(`${model} with ${variable}=http://host${given} is called at ${path}`, async () => {
    await using server = await openServer((response) => sendJson(response, 400, { error: { message: 'no' } }))
    const keys = Object.fromEntries(providers.flatMap((provider) => provider.keys.map((key) => [key, 'given'])))
    using _ = environmentOf({ ...keys, AWS_REGION: 'eu-west-1', [variable]: server.url.replace('/v1', given) })
    await assert.rejects(callModel(requestOf({ model, maxRetries: 0 })), { code: 'MODEL_FAILED' })
    assert.deepEqual(
      server.received.map((request) => request.path),
      [path],
    )
  })
}

test('a dated version of the API of Azure means the deployment in the address, and chat completions', async () => {
  await using server = await openServer((response) => sendJson(response, 200, chatReply({ content: 'Hi.' })))
  using _ = environmentOf({
    AZURE_API_KEY: 'k',
    AZURE_API_BASE: server.url.replace('/v1', ''),
    AZURE_API_VERSION: '2024-10-21',
  })
  await callModel(requestOf({ model: 'azure/mine' }))
  assert.equal(server.received[0]?.path, '/openai/deployments/mine/chat/completions?api-version=2024-10-21')
  assert.equal(server.received[0]?.headers['api-key'], 'k')
})

test('xAI is told to store nothing', async () => {
  await using server = await openServer((response) => sendJson(response, 400, {}))
  using _ = environmentOf({ XAI_API_KEY: 'k', XAI_BASE_URL: server.url })
  await assert.rejects(callModel(requestOf({ model: 'xai/grok-4', maxRetries: 0 })))
  assert.equal(server.received[0]?.body['store'], false)
})

for (const model of ['groq/m', 'xai/m', 'deepseek/m', 'cohere/m']) {
  test(`${model} refuses a file other than text and pictures before anything is sent`, async () => {
    await using server = await openServer((response) => sendJson(response, 400, {}))
    const [name = ''] = model.split('/')
    const prefix = name.toUpperCase()
    using _ = environmentOf({ [`${prefix}_API_KEY`]: 'k', [`${prefix}_BASE_URL`]: server.url })
    const claim = { hash: 'h', name: 'claim.pdf', mediaType: 'application/pdf', bytes: 4 }
    const files = new Map([['h', Buffer.from('%PDF')]])
    const request = requestOf({
      model,
      maxRetries: 0,
      messages: [{ role: 'user', text: 'hello', files: [claim] }],
      files,
    })
    await assert.rejects(callModel(request), {
      code: 'MODEL_FAILED',
      message: /\bfile part|file content|claim\.pdf is application/,
    })
    assert.deepEqual(server.received, [])
  })
}

test('OpenRouter gets a schema with optional members without strict mode', async () => {
  await using server = await openServer((response) => sendJson(response, 200, chatReply({ content: '{}' })))
  using _ = environmentOf({ OPENROUTER_API_KEY: 'k', OPENROUTER_BASE_URL: server.url })
  const output = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }
  for (const required of [['a'], []]) {
    await callModel(requestOf({ model: 'openrouter/openai/gpt-4o', output: { ...output, required } }))
  }
  const formats = server.received.map(({ body }) => body['response_format'] as { json_schema: { strict: boolean } })
  assert.deepEqual(
    formats.map((format) => format.json_schema.strict),
    [true, false],
  )
})

test('a model object names the variable of its provider, whatever its package calls it', async () => {
  using _ = environmentOf({})
  const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock')
  const { keyVariable } = await resolveModel(createAmazonBedrock({ region: 'eu-west-1', apiKey: 'k' })('m'))
  assert.equal(keyVariable, 'AWS_BEARER_TOKEN_BEDROCK')
})

interface Manifest {
  readonly devDependencies: { readonly [name: string]: string }
  readonly dependencies: { readonly [name: string]: string }
  readonly peerDependencies: { readonly [name: string]: string }
  readonly peerDependenciesMeta: { readonly [name: string]: object }
}

function check(provider: Provider): void {
  checkProvider({ name: `${provider.name}/m`, id: 'm', provider })
}

/** Every variable of the provider except the key. */
function everything({ variablesToSet = [], keys }: Provider): { readonly [name: string]: string } {
  return Object.fromEntries(variablesToSet.filter((name) => !keys.includes(name)).map((name) => [name, 'given']))
}
