// The user's own prices, by model. They are checked before anything is spent, because a wrong price would cause no
// error, only a wrong bill.
import { RepriseError } from '../base/errors.ts'
import { wrong, type Check } from '../base/checks.ts'
import { checkKeys, describe, isRecord } from '../base/options.ts'
import { readModelName } from './resolve/model-names.ts'
import { findProvider } from './resolve/providers.ts'

/** In US dollars per million tokens. Without a price of their own, cached tokens cost as much as other input. */
export interface Price {
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
export function givenPrice(model: string, prices: Prices | undefined): Price | undefined {
  if (prices === undefined) return undefined
  if (Object.hasOwn(prices, model)) return prices[model]
  const id = model.slice(model.indexOf('/') + 1)
  // the id `openai/gpt-5-mini` at a gateway is not OpenAI's own model, which has the same name
  const isName = findProvider(id.split('/', 1)[0]!) !== undefined && id.includes('/')
  return !isName && Object.hasOwn(prices, id) ? prices[id] : undefined
}

/** Keeps a copy. OPTION_INVALID names the model and the value; OPTION_UNKNOWN. */
export const pricesCheck: Check<Prices> = {
  expected: `an object of models, such as { 'openai/gpt-5-mini': ${example} }`,
  read(what, value) {
    if (!isRecord(value)) throw wrong(what, value, pricesCheck.expected)
    return Object.fromEntries(
      Object.entries(value).map(([model, price]) => [priceKey(model), checkPrice(model, price)]),
    )
  },
}

/** Normalises the provider's name (`gemini/…` is `google/…`). A model without a provider is kept as it is. */
function priceKey(model: string): string {
  return model.includes('/') ? (readModelName(model)?.name ?? model) : model
}

function checkPrice(model: string, price: unknown): Price {
  if (model.trim() === '') throw refusal(`prices has an empty name; give a model, such as 'openai/gpt-5-mini'`)
  const what = `the price of ${describe(model)}`
  if (!isRecord(price)) throw refusal(`${what} is ${describe(price)}; give an object in ${unit}, such as ${example}`)
  checkKeys(what, price, keys)
  for (const key of keys) {
    const dollars = price[key]
    if (dollars === undefined) {
      if (key === 'input' || key === 'output') {
        throw refusal(`${what} has no ${key}; give both input and output in ${unit}, such as ${example}`)
      }
    } else if (typeof dollars !== 'number' || !Number.isFinite(dollars) || dollars < 0) {
      throw refusal(`${what} has ${describe(dollars)} as ${key}; give ${unit} as a number of at least 0, such as 0.25`)
    }
  }
  return { ...price } as unknown as Price
}

function refusal(message: string): RepriseError {
  return new RepriseError('OPTION_INVALID', message)
}
