// No test contains a price of the package, so that newer data does not break it: numbers are a user's own prices, are
// compared with one another, or come from the package's own table.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { waitForUpdate, type ModelInfo, type ModelPrice } from '@pydantic/genai-prices'
import type { RepriseError } from '../../src/base/errors.ts'
import type { Usage } from '../../src/journal/entries.ts'
import { noUsage } from '../../src/journal/state/state.ts'
import { dollars } from '../../src/text/words.ts'
import { callModel } from '../../src/models/call-model.ts'
import { addCost, costOf, pricesCheck } from '../../src/models/cost.ts'
import { defaultModel, modelName } from '../../src/models/resolve/resolve-model.ts'
import { chatReply, environmentOf, openServer, requestOf, sendJson } from './support.ts'

const known = defaultModel
const one = (fields: Partial<Usage> = {}): Usage => ({ calls: 1, input: 1000, output: 100, ...fields })
const price = { input: 2, output: 8, cacheRead: 0.5, cacheWrite: 4 }

test("a user's price is in dollars per million tokens, with cached tokens at their own rates", async () => {
  const prices = { 'acme/large': price }
  assert.equal(await costOf('acme/large', one({ input: 1_000_000, output: 500_000 }), { prices }), 6)
  const cached = one({ input: 1_000_000, output: 0, cacheRead: 500_000, cacheWrite: 250_000 })
  assert.equal(await costOf('acme/large', cached, { prices }), 0.5 + 0.25 + 1)
})

test('cached tokens without their own price cost what other input costs', async () => {
  const prices = { 'acme/large': { input: 2, output: 8 } }
  const cached = one({ input: 1_000_000, output: 0, cacheRead: 500_000, cacheWrite: 250_000 })
  assert.equal(await costOf('acme/large', cached, { prices }), 2)
})

test('reasoning is part of the output and is not paid twice', async () => {
  using _ = environmentOf({})
  for (const prices of [{ [known]: price }, {}]) {
    const plain = await costOf(known, one({ output: 5000 }), { prices })
    assert.ok(plain !== undefined && plain > 0)
    assert.equal(await costOf(known, one({ output: 5000, reasoning: 4000 }), { prices }), plain)
  }
})

test('a reply of a real server counts cached tokens within its input, and reasoning within its output', async () => {
  const usage = {
    prompt_tokens: 1000,
    completion_tokens: 100,
    total_tokens: 1100,
    prompt_tokens_details: { cached_tokens: 800 },
    completion_tokens_details: { reasoning_tokens: 60 },
  }
  await using server = await openServer((response) => sendJson(response, 200, chatReply({ content: 'Hi.' }, { usage })))
  using _ = environmentOf({ OPENAI_BASE_URL: server.url })
  const reply = await callModel(requestOf({ model: 'openai/house' }))
  assert.deepEqual(reply.usage, { calls: 1, input: 1000, output: 100, cacheRead: 800, reasoning: 60 })
  const cost = await costOf('openai/house', reply.usage, { prices: { 'openai/house': price } })
  assert.equal(cost, (200 * 2 + 800 * 0.5 + 100 * 8) / 1e6)
})

test("a user's price overrides the built-in one, for the name as written and for a model object", async () => {
  using _ = environmentOf({})
  const prices = { [known]: { input: 1000, output: 0 } }
  assert.equal(await costOf(known, one(), { prices }), 1)
  const object = createOpenAI({ apiKey: 'x' })(known.slice('openai/'.length))
  assert.equal(await costOf(modelName(object), one(), { prices }), 1)
})

test('a price may be given under any name of the provider', async () => {
  using _ = environmentOf({})
  const prices = pricesCheck.read('prices', { 'gemini/house': { input: 1000, output: 0 } })
  assert.equal(await costOf(modelName('google/house'), one(), { prices }), 1)
  assert.equal(await costOf(modelName('gemini/house'), one(), { prices }), 1)
})

test('models of hosts of many models have the price of that host, unless they have another address', async () => {
  const hosted = [
    'bedrock/amazon.nova-lite-v1:0',
    'openrouter/openai/gpt-4o',
    'vertex/gemini-2.5-pro',
    'groq/llama-3.3-70b-versatile',
  ]
  {
    using _ = environmentOf({})
    for (const model of hosted) assert.ok(((await costOf(model, one())) ?? 0) > 0, model)
  }
  const there = 'http://127.0.0.1:8000/v1'
  using _ = environmentOf({
    AWS_ENDPOINT_URL: there,
    OPENROUTER_BASE_URL: there,
    GOOGLE_VERTEX_BASE_URL: there,
    GROQ_BASE_URL: there,
  })
  for (const model of hosted) assert.equal(await costOf(model, one()), undefined, model)
})

test('a deployment of Azure, which may be of any model, and Claude on Vertex, which costs by location, have no price', async () => {
  using _ = environmentOf({})
  assert.equal(await costOf('azure/gpt-4o', one()), undefined)
  assert.equal(await costOf('vertex/claude-sonnet-4@20250514', one()), undefined)
})

test('a price for a model without a provider applies to that model of every provider, after the full name', async () => {
  const prices = { 'qwen-3': { input: 1000, output: 0 }, 'local/qwen-3': { input: 3000, output: 0 } }
  assert.equal(await costOf('ollama/qwen-3', one(), { prices }), 1)
  assert.equal(await costOf('local/qwen-3', one(), { prices }), 3)
  assert.equal(await costOf('qwen-3', one(), { prices }), 1)
  assert.equal(await costOf('together/org/qwen', one(), { prices: { 'org/qwen': price } }), 0.0028)
})

test("a price of OpenAI's own model isn't that of the same model at a gateway", async () => {
  assert.equal(await costOf('gateway/openai/gpt-5-mini', one(), { prices: { 'openai/gpt-5-mini': price } }), undefined)
})

test('the default model has a price, and more tokens cost more', async () => {
  using _ = environmentOf({})
  const cost = await costOf(known, one())
  assert.ok(cost !== undefined && cost > 0 && cost < 1, `${known} costs ${cost}`)
  assert.ok((await costOf(known, one({ input: 2000 })))! > cost)
  assert.ok((await costOf(known, one({ output: 200 })))! > cost)
  assert.ok((await costOf(known, one({ cacheRead: 900 })))! < cost)
})

test("a token written into Anthropic's cache costs more than other input, and one read from it less", async () => {
  using _ = environmentOf({})
  const [plain, written, read] = await Promise.all(
    [{}, { cacheWrite: 900 }, { cacheRead: 900 }].map((fields) => costOf('anthropic/claude-sonnet-4-5', one(fields))),
  )
  assert.ok(written! > plain! && read! < plain!, `${plain}, ${written}, ${read}`)
})

test('every provider with a built-in price is found by the name in its model objects', async () => {
  using _ = environmentOf({})
  for (const [name, id] of Object.entries(packageIds)) {
    const priced = (await modelsOf(id)).filter((model) => pricesOf(model).every(hasTokenPrices))
    const costs = await Promise.all(priced.map((model) => costOf(`${name}/${model.id}`, one())))
    assert.ok(costs.filter((cost) => cost !== undefined && cost > 0).length > priced.length / 2, name)
  }
})

test('an unknown cost is undefined, never 0', async () => {
  using _ = environmentOf({})
  const names = ['openai/llama-3', 'openai/no-such-model', 'ollama/llama3', `ollama/${known}`, 'local/gpt-5-mini']
  names.push('my-openai-proxy/gpt-5-mini', 'azure/gpt-5-mini', 'gpt-5-mini', 'openai/', 'openai', '/', '', 'openai/(((')
  names.push('constructor/x', '__proto__/x', 'constructor', 'openai/\u0000\ud800', `openai/${'x'.repeat(100_000)}`)
  for (const name of names) {
    assert.equal(await costOf(name, one(), { prices: {} }), undefined, name.slice(0, 80))
    assert.equal(await costOf(name, noUsage), undefined, name.slice(0, 80))
  }
})

test('a model listed without a price of its tokens has an unknown cost, not 0', async () => {
  using _ = environmentOf({})
  let seen = 0
  for (const [name, id] of Object.entries(packageIds)) {
    for (const model of await modelsOf(id)) {
      if (pricesOf(model).some(hasTokenPrices)) continue
      seen += 1
      assert.equal(await costOf(`${name}/${model.id}`, one()), undefined, model.id)
    }
  }
  assert.ok(seen > 0, 'there are such models')
})

test('a version missing from the data is not priced as the previous version', async () => {
  using _ = environmentOf({})
  assert.ok((await costOf('anthropic/claude-sonnet-4-5', one())) !== undefined)
  assert.ok((await costOf('anthropic/claude-sonnet-4-5-20250929', one())) !== undefined)
  assert.equal(await costOf('anthropic/claude-sonnet-4-5-77', one()), undefined)
  assert.equal(await costOf('anthropic/claude-sonnet-4-5-77-20300101', one()), undefined)
})

test('a custom server under the name of a provider has no built-in price', async () => {
  const oss = 'openai/gpt-oss-120b'
  {
    using _ = environmentOf({ OPENAI_BASE_URL: 'http://127.0.0.1:8000/v1', ANTHROPIC_BASE_URL: 'not a URL' })
    assert.equal(await costOf(known, one()), undefined)
    assert.equal(await costOf(oss, one()), undefined)
    assert.equal(await costOf('anthropic/claude-sonnet-4-5', one()), undefined)
    assert.equal(await costOf(oss, one(), { prices: { [oss]: price } }), 0.0028)
  }
  using _ = environmentOf({ OPENAI_BASE_URL: 'https://api.openai.com/v1' })
  assert.ok((await costOf(known, one())) !== undefined)
})

test('no call costs 0 if the price is known, and an uncounted call is unknown unless the model is free', async () => {
  using _ = environmentOf({})
  for (const prices of [{ [known]: price }, {}]) {
    assert.equal(await costOf(known, noUsage, { prices }), 0)
    assert.equal(await costOf(known, one({ input: 0, output: 0 }), { prices }), undefined)
  }
  const free = { 'ollama/llama3': { input: 0, output: 0 } }
  assert.equal(await costOf('ollama/llama3', one({ input: 0, output: 0 }), { prices: free }), 0)
  assert.equal(await costOf('ollama/llama3', one(), { prices: free }), 0)
})

test('impossible counts have no cost and throw nothing', async () => {
  using _ = environmentOf({})
  const wrong = [{ input: -1 }, { output: Number.NaN }, { cacheRead: 1001 }, { cacheRead: 600, cacheWrite: 600 }]
  for (const prices of [{ [known]: price }, {}]) {
    for (const fields of wrong) {
      assert.equal(await costOf(known, one(fields), { prices }), undefined, JSON.stringify(fields))
    }
  }
})

test('tokens have the price of their day', async () => {
  using _ = environmentOf({})
  const [name, model] = await find((candidate) => datesOf(candidate).length > 0)
  const change = new Date(datesOf(model)[0]!)
  const costs = [-1, 1].map((days) => costOf(name, one(), { at: new Date(change.getTime() + days * 86_400_000) }))
  const [before, after] = await Promise.all(costs)
  assert.ok(before !== undefined && after !== undefined && before !== after, `${name}: ${before} and ${after}`)
})

test('a sum of calls above the limit of a higher tier is unknown, since one long call would cost more', async () => {
  using _ = environmentOf({})
  const [name, model] = await find((candidate) => tierOf(candidate) !== undefined)
  const start = tierOf(model)!
  const long = await costOf(name, one({ input: start * 2 }))
  const short = await costOf(name, one({ input: start }))
  assert.ok(long! > short! * 2, `${name}: ${long} and ${short}`)
  assert.equal(await costOf(name, one({ calls: 2, input: start * 2 })), undefined)
  assert.equal(await costOf(name, one({ calls: 2, input: start })), short)
})

test('the package of prices is loaded when a built-in price is first needed, not before', () => {
  const { stdout, stderr } = child(`
    import { registerHooks } from 'node:module'
    let loaded = false
    registerHooks({ load(url, context, next) { loaded ||= url.includes('genai-prices'); return next(url, context) } })
    await import('reprise')
    const { costOf } = await import('./src/models/cost.ts')
    const { pricesCheck } = await import('./src/models/cost.ts')
    const usage = { calls: 1, input: 1, output: 1 }
    await costOf('acme/x', usage, { prices: pricesCheck.read('prices', { 'acme/x': { input: 1, output: 1 } }) })
    await costOf('ollama/llama3', usage)
    const before = loaded
    const cost = await costOf('${known}', usage)
    console.log(JSON.stringify([before, loaded, cost > 0]))
  `)
  assert.equal(stdout, '[false,true,true]\n', stderr)
})

test('no price is fetched from the network, now or later', () => {
  // Every connection of Node's own clients is one of these sockets, as the last two lines of the child show.
  const { stdout, stderr } = child(`
    import http from 'node:http'
    import net from 'node:net'
    let connections = 0
    net.Socket.prototype.connect = () => { connections += 1; throw new Error('no network here') }
    const { costOf } = await import('./src/models/cost.ts')
    const usage = { calls: 1, input: 1, output: 1 }
    for (const model of ['${known}', 'openai/no-such-model', 'google/gemma-3', 'ollama/x']) await costOf(model, usage)
    process.once('beforeExit', async () => {
      const made = connections
      await fetch('http://127.0.0.1:49151').catch(() => {})
      try { http.get('http://127.0.0.1:49151') } catch {}
      console.log(JSON.stringify([made, connections > made + 1]))
    })
  `)
  assert.equal(stdout, '[0,true]\n', stderr)
})

test('invalid prices are refused with the model, the value and the remedy', () => {
  assert.match(refusal([]), /^prices is a list; give an object of models, such as /)
  assert.match(refusal(undefined), /^prices is undefined; give an object/)
  assert.match(refusal({ ' ': price }), /empty name; give a model/)
  assert.match(refusal({ 'a/b': 3 }), /^the price of "a\/b" is 3; give an object in US dollars per million tokens/)
  assert.match(refusal({ 'a/b': { input: 1 } }), /^the price of "a\/b" has no output; give both input and output/)
  assert.match(refusal({ 'a/b': { input: 1, ouput: 2 } }), /"a\/b" has no option "ouput"; did you mean output\?/)
  assert.match(refusal({ 'a/b': { ...price, cache_read: 2 } }), /"cache_read"; did you mean cacheRead\?/)
})

for (const value of [-1, Number.NaN, Infinity, '0.25', null, true, 1n]) {
  test(`a price of ${typeof value} ${String(value)} is refused everywhere`, () => {
    for (const key of Object.keys(price)) {
      const message = refusal({ 'ok/ok': price, 'acme/large': { ...price, [key]: value } })
      assert.ok(
        message.includes(`the price of "acme/large" has ${typeof value === 'string' ? '"0.25"' : value} as ${key};`),
      )
      assert.match(message, /give US dollars per million tokens as a number of at least 0/)
    }
  })
}

test('valid prices are returned as a copy that the caller can no longer change', () => {
  const given = { 'acme/large': { ...price }, free: { input: 0, output: 0 } }
  const checked = pricesCheck.read('prices', given)
  assert.deepEqual(checked, given)
  given['acme/large'].input = 99
  assert.equal(checked['acme/large']?.input, 2)
})

test('a sum with an unknown part is unknown', () => {
  assert.equal(addCost(1, 2), 3)
  assert.equal(addCost(0, undefined), undefined)
  assert.equal(addCost(undefined, 0), undefined)
})

test('dollars are shown so that a small amount is never nothing, and an unknown one says so', () => {
  const shown = [undefined, 0, 0.000_01, 0.0123, 0.999_96, 4.561, 1234.5].map(dollars)
  assert.deepEqual(shown, ['unknown', '$0.00', '<$0.0001', '$0.0123', '$1.00', '$4.56', '$1234.50'])
})

const packageIds: { readonly [name: string]: string } = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  mistral: 'mistral',
  groq: 'groq',
  deepseek: 'deepseek',
  cohere: 'cohere',
  xai: 'x-ai',
}

async function modelsOf(id: string): Promise<readonly ModelInfo[]> {
  const provider = (await waitForUpdate())?.find((candidate) => candidate.id === id)
  assert.ok(provider, `the package has no provider ${id}`)
  return provider.models
}

function pricesOf({ prices }: ModelInfo): readonly ModelPrice[] {
  return Array.isArray(prices) ? prices.map((dated) => dated.prices) : [prices]
}

function hasTokenPrices(prices: ModelPrice): boolean {
  return prices['input_mtok'] !== undefined && prices['output_mtok'] !== undefined
}

/** The name and the entry of a model for which the test holds. */
async function find(holds: (model: ModelInfo) => boolean): Promise<readonly [string, ModelInfo]> {
  for (const name of ['openai', 'anthropic', 'google']) {
    const model = (await modelsOf(packageIds[name]!)).find(holds)
    if (model !== undefined) return [`${name}/${model.id}`, model]
  }
  throw new Error('the package has no such model any more: look for one by other means')
}

/** The days on which the price of its short input changes. */
function datesOf({ prices }: ModelInfo): readonly string[] {
  if (!Array.isArray(prices)) return []
  return prices.flatMap(({ constraint, prices: now }, index) => {
    const before = prices[index - 1]?.prices
    if (constraint?.type !== 'start_date' || before === undefined) return []
    return base(now['input_mtok']) === base(before['input_mtok']) ? [] : [constraint.start_date]
  })
}

function base(value: ModelPrice[string]): number | undefined {
  return typeof value === 'object' ? value.base : value
}

/** The input above which a token costs more, of a model with one list of prices. */
function tierOf({ prices }: ModelInfo): number | undefined {
  const input = Array.isArray(prices) ? undefined : prices['input_mtok']
  return typeof input === 'object' ? input.tiers[0]?.start : undefined
}

function refusal(value: unknown): string {
  try {
    pricesCheck.read('prices', value)
  } catch (error) {
    const { code, message } = error as RepriseError
    assert.equal(code, message.includes('has no option') ? 'OPTION_UNKNOWN' : 'OPTION_INVALID')
    return message
  }
  return assert.fail('it was taken')
}

function child(code: string): { readonly stdout: string; readonly stderr: string } {
  const { OPENAI_BASE_URL: _, ...env } = process.env
  const args = ['--conditions=reprise-source', '--input-type=module', '-e', code]
  return spawnSync(process.execPath, args, { encoding: 'utf8', env })
}
