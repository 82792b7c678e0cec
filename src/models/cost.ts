// The cost of tokens in US dollars: by the user's own prices, or else by those of a package, which is loaded when first
// needed and never uses the network. An unknown cost is undefined and never 0, so that a budget doesn't mistake a model
// without a known price for a free one. A price that may belong to another model counts as unknown.
import type { Usage } from '../journal/entries.ts'
import { isPriceable, nextPriceStep, type Spending } from '../journal/state/tally.ts'
import { hasOwnAddress } from './resolve/provider-access.ts'
import { findProvider } from './resolve/providers.ts'
import { RepriseError } from '../base/errors.ts'
import { wrong, type Check, checkKeys, describe, isRecord } from '../base/options.ts'
import { readModelName } from './resolve/model-names.ts'

interface CostOptions {
  /** The user's own prices, which take precedence over those of the package. */
  readonly prices?: Prices | undefined
  /** When the tokens were used, since prices change. Default: now. */
  readonly at?: Date | undefined
  /**
   * If all calls are in one price tier, the number of input tokens above which it starts (0: the lowest tier). Without
   * it, the cost of several calls that may be in different tiers is unknown.
   */
  readonly over?: number | undefined
}

/**
 * The cost of one model's usage. Undefined if the price is unknown, or the counts can't be priced. Some models cost
 * more per token in long calls: pass the usage of one call and add up costs with `addCost`, or pass `over`. Rejects
 * only if the package of prices can't be loaded.
 */
export async function costOf(model: string, usage: Usage, options: CostOptions = {}): Promise<number | undefined> {
  const ownPrice = userPrice(model, options.prices)
  if (ownPrice !== undefined) return costAt(ownPrice, usage)
  const slash = model.indexOf('/')
  const id = model.slice(slash + 1)
  // the provider is found by its exact name: the package would mistake `my-openai-proxy` for OpenAI
  const provider = findProvider(model.slice(0, Math.max(slash, 0)))
  const prices = provider?.prices
  if (prices === undefined || prices.only?.test(id) === false || hasOwnAddress(provider!)) return undefined
  return isPriceable(usage) ? builtInCost(prices.id, id, usage, options) : undefined
}

/** The cost of what a run has spent. Undefined if the price of a part is unknown. */
export async function costOfSpending(
  spending: Iterable<Spending>,
  prices: Prices | undefined,
): Promise<number | undefined> {
  let sum: number | undefined = 0
  for (const { day, time, allDay, model, over = 0, mixed, usage } of spending) {
    const costs = new Set<number | undefined>()
    for (const one of allDay ? halfHours : [time]) {
      const at = new Date(`${day}T${one}:00Z`)
      costs.add(await costOf(model, usage, { prices, at, over: mixed ? undefined : over }))
    }
    // if the time of day is unknown, so is a price that depends on it
    const [cost] = costs.size === 1 ? costs : []
    sum = addCost(sum, cost)
  }
  return sum
}

const halfHours = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0')).flatMap((hour) => [
  `${hour}:00`,
  `${hour}:30`,
])

/** Adds costs. The sum is unknown if either is. */
export function addCost(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b
}

function costAt(price: Price, usage: Usage): number | undefined {
  const { input, output, cacheRead = input, cacheWrite = input } = price
  // free models cost nothing, even if the server counts no tokens
  if (input + output + cacheRead + cacheWrite === 0) return 0
  if (!isPriceable(usage)) return undefined
  const { cacheRead: read = 0, cacheWrite: written = 0 } = usage
  const millionths = (usage.input - read - written) * input + read * cacheRead + written * cacheWrite
  return (millionths + usage.output * output) / 1_000_000
}

async function builtInCost(
  providerId: string,
  id: string,
  usage: Usage,
  { at, over }: CostOptions,
): Promise<number | undefined> {
  const { calcPrice } = await import('@pydantic/genai-prices')
  // within one tier, n calls cost as much as n average calls
  const times = over === undefined ? 1 : Math.max(1, usage.calls)
  try {
    const found = calcPrice(
      toPackageUsage(usage, times),
      id,
      at === undefined ? { providerId } : { providerId, timestamp: at },
    )
    if (found === null || isOtherVersion(id, found.model.id)) return undefined
    const price = found.model_price
    // a model without a price per token is billed in another way, or has no published price: it would seem free
    if (price['input_mtok'] === undefined || price['output_mtok'] === undefined) return undefined
    const tiers = Object.values(price).flatMap(priceTiers)
    const maySpanTiers =
      over === undefined
        ? usage.calls > 1 && tiers.some((start) => usage.input > start)
        : usage.calls > 1 && tiers.some((start) => start > over && start < nextPriceStep(over))
    return maySpanTiers ? undefined : found.total_price * times
  } catch {
    // the package throws for counts and data that it can't interpret
    return undefined
  }
}

/** Both formats count cached tokens as input, and reasoning as output. */
function toPackageUsage(usage: Usage, times: number): Record<string, number> {
  const { input, output, cacheRead, cacheWrite, reasoning } = usage
  return {
    input_tokens: input / times,
    output_tokens: output / times,
    ...(cacheRead !== undefined && { cache_read_tokens: cacheRead / times }),
    ...(cacheWrite !== undefined && { cache_write_tokens: cacheWrite / times }),
    ...(reasoning !== undefined && { output_reasoning_tokens: reasoning / times }),
  }
}

/** The package matches names by prefix: a future `claude-sonnet-5-9` would get the price of `claude-sonnet-5`. */
function isOtherVersion(requested: string, found: string): boolean {
  const name = requested.trim().toLowerCase()
  return name.startsWith(found) && /^[-.]\d{1,2}(-\d{8}|-latest)?$/.test(name.slice(found.length))
}

/** The numbers of input tokens above which each token costs more. */
function priceTiers(price: number | { readonly tiers: readonly { readonly start: number }[] } | undefined): number[] {
  return typeof price === 'object' ? price.tiers.map(({ start }) => start) : []
}

// The user's own prices. They are checked before anything is spent, because a wrong price causes no error, only a wrong
// cost.

/** In US dollars per million tokens. Cached tokens cost as much as other input unless they have their own price. */
interface Price {
  readonly input: number
  /** Includes reasoning. */
  readonly output: number
  /** Input that the provider read from its cache. */
  readonly cacheRead?: number
  /** Input that the provider wrote to its cache. */
  readonly cacheWrite?: number
}

/** By `provider/model`. Without a provider (`gpt-5-mini`), the price applies to that model of every provider. */
export type Prices = { readonly [model: string]: Price }

const keys = ['input', 'output', 'cacheRead', 'cacheWrite'] as const
const example = '{ input: 0.25, output: 2 }'
const unit = 'US dollars per million tokens'

/** The user's price for a model in the form of `modelName`: by its full name, or else without the provider. */
function userPrice(model: string, prices: Prices | undefined): Price | undefined {
  if (prices === undefined) return undefined
  if (Object.hasOwn(prices, model)) return prices[model]
  const id = model.slice(model.indexOf('/') + 1)
  // a gateway's model may have the id `openai/gpt-5-mini`, but the price under that name is for OpenAI's own model
  const isFullName = findProvider(id.split('/', 1)[0]!) !== undefined && id.includes('/')
  return !isFullName && Object.hasOwn(prices, id) ? prices[id] : undefined
}

/** Returns a copy. Throws OPTION_INVALID, with the model and the value, or OPTION_UNKNOWN. */
export const pricesCheck: Check<Prices> = {
  expected: `an object of models, such as { 'openai/gpt-5-mini': ${example} }`,
  read(what, value) {
    if (!isRecord(value)) throw wrong(what, value, pricesCheck.expected)
    return Object.fromEntries(
      Object.entries(value).map(([model, price]) => [priceKey(model), checkPrice(model, price)]),
    )
  },
}

/** Normalises the provider's name: `gemini/…` becomes `google/…`. A model without a provider stays as it is. */
function priceKey(model: string): string {
  return model.includes('/') ? (readModelName(model)?.name ?? model) : model
}

function checkPrice(model: string, price: unknown): Price {
  if (model.trim() === '') throw invalidPrice(`prices has an empty name; give a model, such as 'openai/gpt-5-mini'`)
  const what = `the price of ${describe(model)}`
  if (!isRecord(price))
    throw invalidPrice(`${what} is ${describe(price)}; give an object in ${unit}, such as ${example}`)
  checkKeys(what, price, keys)
  for (const key of keys) {
    const dollars = price[key]
    if (dollars === undefined) {
      if (key === 'input' || key === 'output') {
        throw invalidPrice(`${what} has no ${key}; give both input and output in ${unit}, such as ${example}`)
      }
    } else if (typeof dollars !== 'number' || !Number.isFinite(dollars) || dollars < 0) {
      throw invalidPrice(
        `${what} has ${describe(dollars)} as ${key}; give ${unit} as a number of at least 0, such as 0.25`,
      )
    }
  }
  return { ...price } as unknown as Price
}

function invalidPrice(message: string): RepriseError {
  return new RepriseError('OPTION_INVALID', message)
}
