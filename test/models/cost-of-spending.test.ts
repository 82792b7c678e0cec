// The spending of a run is kept in parts whose price is that of the calls. The numbers come from the package's own
// table.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitForUpdate, type ModelInfo } from '@pydantic/genai-prices'
import fc from 'fast-check'
import type { Usage } from '../../src/journal/entries.ts'
import { emptyState } from '../../src/journal/state/fold.ts'
import { nextPriceStep, addSpending, restoreSpending, type Spending } from '../../src/journal/state/tally.ts'
import { addCost, costOf, costOfSpending } from '../../src/models/cost.ts'
import { environmentOf } from './support.ts'

const at = '2026-10-01T09:00:00.000Z'
const long = 'google/gemini-2.5-pro'
const one = (fields: Partial<Usage> = {}): Usage => ({ calls: 1, input: 1000, output: 100, ...fields })

test('the spending of a run costs what its calls cost, whatever their model, length and time', async () => {
  using _ = environmentOf({})
  const models = await namesOf((model) => stepsOf(model).length > 0 || JSON.stringify(model).includes('time_of_date'))
  const lengths = [128_000, 128_001, 199_999, 200_000, 200_001, 271_999, 272_000, 272_001, 600_000]
  const call = fc.record({
    model: fc.constantFrom('openai/gpt-5-mini', 'acme/large', ...models),
    moment: fc.nat(95).map((quarter) => new Date(Date.UTC(2026, 9, 1, 0, quarter * 15))),
    input: fc.oneof(fc.nat(2_000), fc.constantFrom(...lengths)),
    output: fc.nat(9_000),
    cached: fc.nat(100),
  })
  const prices = { 'acme/large': { input: 2, output: 8, cacheRead: 0.5 } }
  let priced = 0
  await fc.assert(
    fc.asyncProperty(fc.array(call, { maxLength: 30 }), async (calls) => {
      const run = emptyState('r')
      let sum: number | undefined = 0
      for (const { model, moment, input, output, cached } of calls) {
        const usage = one({ input, output, cacheRead: Math.floor((input * cached) / 100) })
        addSpending(run, moment.toISOString(), model, usage)
        sum = addCost(sum, await costOf(model, usage, { prices, at: moment }))
      }
      if (sum !== undefined) priced++
      near(await costOfSpending(run.spending.values(), prices), sum)
      // as a row has it, for more to be spent on top of that
      const kept = JSON.parse(JSON.stringify([...run.spending.values()])) as Spending[]
      assert.deepEqual([...restoreSpending(kept)], [...run.spending])
    }),
    { numRuns: 200, seed: 4 },
  )
  assert.ok(priced > 50, `only ${priced} of these have a price`)
})

test('the spending of a run that lasts for days stays compact, and costs what its calls do if the price is constant', async () => {
  using _ = environmentOf({})
  const run = emptyState('r')
  let sum = 0
  for (let call = 0; call < 10_000; call++) {
    const moment = new Date(Date.UTC(2026, 9, 1) + call * 60_000 * 4)
    addSpending(run, moment.toISOString(), 'openai/gpt-5-mini', one())
    sum += (await costOf('openai/gpt-5-mini', one(), { at: moment })) ?? Number.NaN
  }
  // 28 days
  assert.ok(run.spending.size <= 96 + 28, `${run.spending.size} parts`)
  near(await costOfSpending(run.spending.values(), {}), sum)
  const kept = JSON.parse(JSON.stringify([...run.spending.values()])) as Spending[]
  assert.deepEqual([...restoreSpending(kept)], [...run.spending])
  // for a model that is cheaper at night, the time of the calls is no longer known
  const [night = ''] = await namesOf((model) => JSON.stringify(model).includes('time_of_date'))
  const asked = emptyState('r')
  for (let hour = 0; hour < 100; hour++)
    addSpending(asked, new Date(Date.UTC(2026, 9, 1, hour)).toISOString(), night, one())
  assert.equal(await costOfSpending(asked.spending.values(), {}), undefined)
})

test('the spending of a run with countless nested crews stays compact', () => {
  const run = emptyState('r')
  for (let crew = 0; crew < 1_000; crew++) addSpending(run, at, long, one({ calls: 3, input: 150_000 }))
  assert.ok(run.spending.size <= 97, `${run.spending.size} parts`)
  const kept = JSON.parse(JSON.stringify([...run.spending.values()])) as Spending[]
  assert.deepEqual([...restoreSpending(kept)], [...run.spending])
  assert.equal(run.spent.calls, 3_000)
})

test('calls are separated at every length from which a known model costs more', async () => {
  const known = new Set<number>()
  for (let step = nextPriceStep(0); step < Number.POSITIVE_INFINITY; step = nextPriceStep(step)) known.add(step)
  const unknown = await namesOf((model) => stepsOf(model).some((step) => !known.has(step)))
  assert.deepEqual(unknown, [])
})

test('one call without a token count makes the cost unknown, however many others have one', async () => {
  using _ = environmentOf({})
  const run = emptyState('r')
  for (let call = 0; call < 3; call++) addSpending(run, at, long, one())
  near(await costOfSpending(run.spending.values(), {}), 3 * (await costOf(long, one(), { at: new Date(at) }))!)
  addSpending(run, at, long, one({ input: 0, output: 0 }))
  addSpending(run, at, long, one())
  assert.equal(await costOfSpending(run.spending.values(), {}), undefined)
})

test('the spending of a crew has no price if only the sum of possibly long calls is known', async () => {
  using _ = environmentOf({})
  const run = emptyState('r')
  const short = one({ calls: 3, input: 150_000 })
  for (let crew = 0; crew < 2; crew++) addSpending(run, at, long, short)
  near(await costOfSpending(run.spending.values(), {}), 2 * (await costOf(long, short, { at: new Date(at) }))!)
  addSpending(run, at, long, one({ calls: 3, input: 250_000 }))
  assert.equal(await costOfSpending(run.spending.values(), {}), undefined)
})

function near(cost: number | undefined, expected: number | undefined): void {
  if (cost === undefined || expected === undefined) assert.equal(cost, expected)
  else assert.ok(Math.abs(cost - expected) <= 1e-9 * expected, `${cost} is not ${expected}`)
}

const packageIds = { openai: 'openai', anthropic: 'anthropic', google: 'google', deepseek: 'deepseek', xai: 'x-ai' }

/** The names of the models for which `holds` returns true. */
async function namesOf(holds: (model: ModelInfo) => boolean): Promise<string[]> {
  const providers = (await waitForUpdate()) ?? []
  const names = Object.entries(packageIds).flatMap(([name, id]) =>
    (providers.find((provider) => provider.id === id)?.models ?? [])
      .filter(holds)
      .map((model) => `${name}/${model.id}`),
  )
  return names
}

function stepsOf({ prices }: ModelInfo): number[] {
  const lists = Array.isArray(prices) ? prices.map((dated) => dated.prices) : [prices]
  return lists.flatMap((list) =>
    Object.values(list).flatMap((price) =>
      typeof price === 'object' ? price.tiers.map(({ start }: { readonly start: number }) => start) : [],
    ),
  )
}
