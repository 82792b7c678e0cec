// Every provider of the table over the wire, with the protocol of its own package: two tool calls at once, an answer by
// a schema, a file, streamed and in one piece. Killed after each append, a resumed run repeats no answered call.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { Agent, Crew, file, tool, type LanguageModel } from 'reprise'
import { memoryStore } from 'reprise/stores'
import { z } from 'zod'
import { taskInPath as taskIn } from '../../src/journal/paths.ts'
import { providers } from '../../src/models/resolve/providers.ts'
import type { Store } from '../../src/stores/store.ts'
import { entriesOf } from '../engine/support.ts'
import { environmentOf, openServer, sendJson, type Received } from '../models/support.ts'
import { isFull } from '../support/full.ts'
import { taskOf } from './crew-parts.ts'
import { hear, type Heard } from './life.ts'
import { openModelServer, requestsOf } from './model-server.ts'
import { dieAt } from './mortal.ts'

interface Asked {
  readonly model: string
  /** A kind of file that the provider's package can send. */
  readonly file: 'claim.pdf' | 'claim.png'
  readonly path: RegExp
  /** Distinguishes rows with the same model. */
  readonly as?: string
  readonly variables?: { readonly [name: string]: string }
  /** A model object, for what a string cannot express. */
  readonly object?: (url: string) => LanguageModel
}

const chat = /\/chat\/completions/
const asked: readonly Asked[] = [
  { model: 'openai/gpt-5-mini', as: 'through OPENAI_BASE_URL', file: 'claim.pdf', path: chat },
  // a string means OpenAI itself, which has one address
  {
    model: 'openai/gpt-5-mini',
    as: 'as a model object',
    object: (url) => createOpenAI({ apiKey: 'sk-none', baseURL: `${url}/v1` })('gpt-5-mini'),
    file: 'claim.pdf',
    path: /\/v1\/responses$/,
  },
  { model: 'anthropic/claude-sonnet-4-5', file: 'claim.pdf', path: /\/v1\/messages$/ },
  {
    model: 'anthropic/claude-3-5-haiku-latest',
    as: 'with the schema as a tool',
    file: 'claim.pdf',
    path: /\/v1\/messages$/,
  },
  { model: 'google/gemini-2.5-flash', file: 'claim.pdf', path: /\/v1beta\/models\/.*:(streamG|g)enerateContent/ },
  { model: 'google/gemini-3-pro-preview', file: 'claim.pdf', path: /\/v1beta\/models\/.*:(streamG|g)enerateContent/ },
  { model: 'azure/mine', file: 'claim.pdf', path: /\/openai\/v1\/responses$/ },
  {
    model: 'azure/mine',
    as: 'with a dated version',
    file: 'claim.pdf',
    path: /\/openai\/deployments\/mine\/chat\/completions/,
    variables: { AZURE_API_VERSION: '2024-10-21' },
  },
  { model: 'bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0', file: 'claim.pdf', path: /\/converse(-stream)?$/ },
  {
    model: 'bedrock/amazon.nova-pro-v1:0',
    as: 'signed with an access key',
    file: 'claim.pdf',
    path: /\/converse(-stream)?$/,
    variables: { AWS_BEARER_TOKEN_BEDROCK: '', AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' },
  },
  { model: 'vertex/gemini-2.5-flash', as: 'with a key', file: 'claim.pdf', path: /\/publishers\/google\/models\// },
  {
    model: 'vertex/gemini-2.5-flash',
    as: 'with a token of Google Cloud',
    file: 'claim.pdf',
    path: /\/publishers\/google\/models\//,
    variables: { GOOGLE_VERTEX_API_KEY: '' },
  },
  {
    model: 'vertex/claude-sonnet-4-5@20250929',
    file: 'claim.pdf',
    path: /\/publishers\/anthropic\/models\/.*:(streamRawP|rawP)redict$/,
  },
  { model: 'mistral/mistral-large-latest', file: 'claim.pdf', path: chat },
  { model: 'groq/meta-llama/llama-4-scout-17b-16e-instruct', file: 'claim.png', path: chat },
  { model: 'xai/grok-4', file: 'claim.png', path: /\/v1\/responses$/ },
  { model: 'deepseek/deepseek-chat', file: 'claim.png', path: chat },
  { model: 'cohere/command-a-vision-07-2025', file: 'claim.png', path: /\/v2\/chat$/ },
  { model: 'openrouter/openai/gpt-5-mini', file: 'claim.pdf', path: /\/api\/v1\/chat\/completions$/ },
  { model: 'together/meta-llama/Llama-4-Scout-17B-16E-Instruct', file: 'claim.pdf', path: chat },
  { model: 'fireworks/accounts/fireworks/models/llama4-scout-instruct-basic', file: 'claim.pdf', path: chat },
  { model: 'ollama/llama3.1', file: 'claim.pdf', path: chat },
]

const bytes = { 'claim.pdf': '%PDF-1.7\n\xff claim', 'claim.png': '\x89PNG\r\n\x1a\n\xff claim' }

let server: Awaited<ReturnType<typeof openProviders>>
before(async () => {
  server = await openProviders()
})
after(() => server[Symbol.asyncDispose]())

test('every provider of the table is called', () => {
  const names = new Set(asked.map(({ model }) => model.split('/', 1)[0]))
  assert.deepEqual(
    providers.map(({ name }) => name).filter((name) => !names.has(name)),
    [],
  )
})

for (const provider of asked) {
  const { model, as = '' } = provider
  describe(`${model} ${as}`.trim(), () => {
    for (const streamed of [false, true]) {
      test(`calls two tools at once, answers by a schema and receives a file, ${streamed ? 'streamed' : 'in one piece'}`, async () => {
        using _ = environmentOf({ ...server.variables, ...provider.variables })
        const run = runName(model, streamed, 'whole')
        const { status, outputs, heard } = await live(provider, streamed, run, memoryStore())
        assert.equal(status, 'completed')
        assert.deepEqual(outputs, [{ policy: 'P-77', reported: '2024-05-03' }, 'a claim', 'plain'])
        const [first, second, third, ...others] = server.of(run)
        assert.equal(others.length, 1)
        for (const { path } of server.of(run)) assert.match(path, provider.path)
        assert.match(bodyOf(first), /lookup_policy.*lookup_weather|lookup_weather.*lookup_policy/)
        assert.match(bodyOf(first), /reported/)
        assert.match(bodyOf(second), /heavy rain/)
        assert.ok(bodyOf(third).includes(Buffer.from(bytes[provider.file], 'latin1').toString('base64')), 'the file')
        assert.equal(server.of(run).every(isStreamed), streamed)
        assert.deepEqual(textsOf(heard, 'sum', 'note'), streamed ? ['a claim', 'plain'] : [])
      })

      test(`repeats no model call when killed after any entry, ${streamed ? 'streamed' : 'in one piece'}`, async () => {
        using _ = environmentOf({ ...server.variables, ...provider.variables })
        const whole = runName(model, streamed, 'undisturbed')
        const { recorded } = await dieAt(memoryStore(), { at: '' }, (store) => live(provider, streamed, whole, store))
        const steps = server.stepsOf(whole)
        assert.equal(steps.length, 4)
        // each entry in one of the two ways, or in both
        const numbers = Array.from({ length: recorded - 1 }, (_each, index) => index + 1)
        for (const number of numbers.filter((one) => isFull || (one % 2 === 1) === streamed)) {
          const run = runName(model, streamed, `${number}`)
          const store = memoryStore()
          const life = await dieAt(store, { at: `after:${number}` }, (own) => live(provider, streamed, run, own))
          assert.equal(life.lived, undefined, 'it was killed')
          const sent = server.stepsOf(run).length
          const replied = (await entriesOf(store, run)).filter(({ type }) => type === 'model.replied').length
          const { status, outputs } = await live(provider, streamed, run, store)
          assert.equal(status, 'completed')
          assert.deepEqual(outputs, [{ policy: 'P-77', reported: '2024-05-03' }, 'a claim', 'plain'])
          // a call that was in flight when it was killed is made again, and no other
          const expected = [...steps.slice(0, sent), ...steps.slice(replied)]
          assert.ok(sent - replied <= 1)
          assert.deepEqual(
            server.stepsOf(run),
            expected.map((step) => step.replaceAll(whole, run)),
            `after entry ${number}`,
          )
        }
      })
    }
  })
}

const lookupPolicy = tool({
  name: 'lookup_policy',
  description: 'Look a policy up',
  effect: 'read',
  input: z.object({ number: z.string() }),
  run: ({ number }) => ({ number, since: '2020-01-01' }),
})

const lookupWeather = tool({
  name: 'lookup_weather',
  description: 'The weather of a day',
  effect: 'read',
  input: z.object({ day: z.string() }),
  run: () => 'heavy rain',
})

let made = 0
/** The id of a run. No id contains another. */
function runName(model: string, streamed: boolean, name: string): string {
  made += 1
  return `${model.replaceAll(/[^a-z\d]+/gi, '-')}-${streamed ? 'streamed' : 'whole'}-${name}-${made}-end`
}

interface Lived {
  readonly status: string
  readonly outputs: readonly unknown[]
  readonly heard: Heard | undefined
}

async function live(provider: Asked, streamed: boolean, id: string, store: Store): Promise<Lived> {
  const agent = new Agent({
    role: 'Worker',
    goal: 'Do the job',
    maxRetries: 0,
    model: provider.object?.(server.url) ?? provider.model,
  })
  const output = z.object({ policy: z.string(), reported: z.string() })
  const facts = taskOf('facts', 'Collect the facts', { agent, output, tools: [lookupPolicy, lookupWeather] })
  const tasks = [facts, taskOf('sum', 'Look at {claim}', { agent }), taskOf('note', 'Plain', { agent })]
  const claim = file(Buffer.from(bytes[provider.file], 'latin1'), { name: provider.file })
  const crew = new Crew({ name: 'providers', tasks, store })
  const run = await crew.kickoff({ id, inputs: { notes: `run:${id};`, claim } }).started
  const heard = streamed ? await hear(run.events()) : undefined
  const { status, tasks: done } = await run.result()
  return { status, outputs: done.map((task) => task.output ?? null), heard }
}

function textsOf(heard: Heard | undefined, ...tasks: readonly string[]): string[] {
  const texts = Object.entries(heard?.texts ?? {})
  return texts.filter(([path]) => tasks.includes(taskIn(path))).map(([, text]) => text)
}

function bodyOf(request: Received | undefined): string {
  return JSON.stringify(request?.body)
}

function isStreamed({ path, body }: Received): boolean {
  return body['stream'] === true || /stream/i.test(path)
}

/**
 * One server for all providers: it records requests as received, and answers them through the model server of the crash
 * tests.
 */
async function openProviders() {
  const mock = await openModelServer(0)
  const proxy = await openServer((response, _, request) => void pass(mock.url, request, response))
  const url = proxy.url.replace('/v1', '')
  const keys = providers.flatMap((provider) => provider.keys.map((key) => [key, 'sk-none']))
  const addresses = providers.flatMap((provider) => provider.addresses.map((address) => [address, url]))
  return {
    url,
    variables: {
      ...(Object.fromEntries([...keys, ...addresses]) as { [name: string]: string }),
      AWS_REGION: 'eu-west-1',
      GOOGLE_VERTEX_BASE_URL: `${url}/v1/projects/p/locations/l`,
      GOOGLE_VERTEX_PROJECT: 'p',
      GOOGLE_VERTEX_LOCATION: 'l',
      // where a machine of Google Cloud gets its tokens, and no other place to look for one
      GCE_METADATA_HOST: url.replace('http://', ''),
      GOOGLE_APPLICATION_CREDENTIALS: '',
      CLOUDSDK_CONFIG: '/nowhere',
    },
    of: (run: string) => proxy.received.filter((request) => bodyOf(request).includes(`run:${run};`)),
    stepsOf: (run: string) => requestsOf(mock, run),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]()
      await mock[Symbol.asyncDispose]()
    },
  }
}

async function pass(to: string, request: Received, response: ServerResponse): Promise<void> {
  if (request.path.startsWith('/computeMetadata/')) {
    const token = { access_token: 'ya29.none', expires_in: 3600, token_type: 'Bearer' }
    return sendJson(response, 200, token, { 'metadata-flavor': 'Google' })
  }
  // the protocol of Anthropic, with the model in the path
  const [, claude] = /\/publishers\/anthropic\/models\/([^/:]+):/.exec(request.path) ?? []
  const place = claude === undefined ? request.path : '/v1/messages'
  const body = JSON.stringify(claude === undefined ? request.body : { ...request.body, model: claude })
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(`${to}${place}`, { method: 'POST', headers, body })
  response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? 'application/json' })
  const missed = corrections.find(({ path }) => request.path === path)
  if (missed) response.end((await reply.text()).replaceAll(missed.says, missed.should))
  else Readable.fromWeb(reply.body!).pipe(response)
}

/** Adds fields that the provider's package requires and the model server leaves out. */
const corrections = [
  { path: '/v2/chat', says: '{"content":{"type":"text"}}', should: '{"content":{"type":"text","text":""}}' },
  { path: '/v1/responses', says: '"type":"reasoning"', should: '"type":"reasoning","status":"completed"' },
]
