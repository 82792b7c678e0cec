// Prices that a user gives: data, keyed by the model as it is written. They are checked before anything is spent,
// since a bad price would show as a wrong bill and never as an error.
import { RepriseError } from '../base/errors.ts'
import { wrong, type Check } from '../base/checks.ts'
import { checkKeys, describe, isRecord } from '../base/options.ts'
import { readModelName } from './resolve/model-names.ts'
import { findProvider } from './resolve/providers.ts'

/** In US dollars per million tokens. Cached tokens without a price of their own cost what other input costs. */
export interface Price {
  readonly input: number
  /** Includes reasoning. */
  readonly output: number
  /** Input that the provider read from its cache. */
  readonly cacheRead?: number
  /** Input that the provider put into its cache. */
  readonly cacheWrite?: number
}

/** Keyed by `provider/model`; the model alone (`gpt-5-mini`) means that model of every provider. */
export type Prices = { readonly [model: string]: Price }

const keys = ['input', 'output', 'cacheRead', 'cacheWrite'] as const
const example = '{ input: 0.25, output: 2 }'
const unit = 'US dollars per million tokens'

/**
 * The price that was given for a model as `modelName` writes it: for its whole name, else for the name without its
 * provider.
 */
export function givenPrice(model: string, prices: Prices | undefined): Price | undefined {
  if (prices === undefined) return undefined
  if (Object.hasOwn(prices, model)) return prices[model]
  const id = model.slice(model.indexOf('/') + 1)
  // The id `openai/gpt-5-mini` at some gateway is not the same as the name `openai/gpt-5-mini`, which means OpenAI's
  // own.
  const isName = findProvider(id.split('/', 1)[0]!) !== undefined && id.includes('/')
  return !isName && Object.hasOwn(prices, id) ? prices[id] : undefined
}

/** Keeps a copy; OPTION_INVALID, with the model and the value, for what isn't a price; OPTION_UNKNOWN. */
export const pricesCheck: Check<Prices> = {
  expected: `an object of models, such as { 'openai/gpt-5-mini': ${example} }`,
  read(what, value) {
    if (!isRecord(value)) throw wrong(what, value, pricesCheck.expected)
    return Object.fromEntries(
      Object.entries(value).map(([model, price]) => [priceKey(model), checkPrice(model, price)]),
    )
  },
}

/** `gemini/…` is `google/…`; a model alone stays alone, since it is that model of every provider. */
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
