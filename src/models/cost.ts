// What tokens cost in US dollars. A user's own price comes first, then the data of a package that is loaded when first
// needed and never uses the network. An unknown price is undefined and never 0: a budget must not mistake a model
// without a price for a free one. A price that might belong to something else counts as unknown.
import type { Usage } from '../journal/entries.ts'
import { givenPrice, type Price, type Prices } from './prices.ts'
import { isElsewhere } from './resolve/provider-access.ts'
import { findProvider } from './resolve/providers.ts'

export interface CostOptions {
  /** The user's own, as `pricesCheck` keeps them; an entry wins over the built-in data. */
  readonly prices?: Prices | undefined
  /** When the tokens were used, since prices change. Now, when left out. A user's own price has no date. */
  readonly at?: Date | undefined
}

/**
 * The dollars for what one model used; undefined when its price is not known, or the counts can't be priced. Give the
 * usage of one call and add costs up with `addCost`: some models cost more per token in long calls, so a sum of several
 * calls above such a limit has no known cost. Rejects only when the package of prices cannot be loaded.
 */
export async function costOf(model: string, usage: Usage, options: CostOptions = {}): Promise<number | undefined> {
  const given = givenPrice(model, options.prices)
  if (given !== undefined) return costAt(given, usage)
  const slash = model.indexOf('/')
  const id = model.slice(slash + 1)
  // by its name alone: the package itself would also mistake `my-openai-proxy` for OpenAI
  const provider = findProvider(model.slice(0, Math.max(slash, 0)))
  const prices = provider?.prices
  if (prices === undefined || prices.only?.test(id) === false || isElsewhere(provider!)) return undefined
  return isPriceable(usage) ? builtInCost(prices.id, id, usage, options.at) : undefined
}

/** The sum, which is unknown when one part of it is. */
export function addCost(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b
}

function costAt(price: Price, usage: Usage): number | undefined {
  const { input, output, cacheRead = input, cacheWrite = input } = price
  // Free is free, whether or not the server counted.
  if (input + output + cacheRead + cacheWrite === 0) return 0
  if (!isPriceable(usage)) return undefined
  const { cacheRead: read = 0, cacheWrite: written = 0 } = usage
  const millionths = (usage.input - read - written) * input + read * cacheRead + written * cacheWrite
  return (millionths + usage.output * output) / 1_000_000
}

// A call without any token is one that the server did not count. More cached tokens than input come from model objects
// of old interface versions, some of which leave cached tokens out of their input.
function isPriceable({ calls, input, output, cacheRead = 0, cacheWrite = 0 }: Usage): boolean {
  if (![input, output, cacheRead, cacheWrite].every((count) => Number.isFinite(count) && count >= 0)) return false
  return cacheRead + cacheWrite <= input && (calls === 0 || input + output > 0)
}

async function builtInCost(
  providerId: string,
  id: string,
  usage: Usage,
  timestamp: Date | undefined,
): Promise<number | undefined> {
  const { calcPrice } = await import('@pydantic/genai-prices')
  try {
    const found = calcPrice(
      toPackageUsage(usage),
      id,
      timestamp === undefined ? { providerId } : { providerId, timestamp },
    )
    if (found === null || isOtherVersion(id, found.model.id)) return undefined
    const price = found.model_price
    // Entries without a price per token are for what is billed in other ways or not published; they would cost 0.
    if (price['input_mtok'] === undefined || price['output_mtok'] === undefined) return undefined
    const firstTier = Math.min(...Object.values(price).flatMap(tiersOf))
    return usage.calls > 1 && usage.input > firstTier ? undefined : found.total_price
  } catch {
    // It throws on counts and data that it cannot interpret.
    return undefined
  }
}

/** Both sides count cached tokens within the input, and reasoning within the output. */
function toPackageUsage({ input, output, cacheRead, cacheWrite, reasoning }: Usage): Record<string, number> {
  return {
    input_tokens: input,
    output_tokens: output,
    ...(cacheRead !== undefined && { cache_read_tokens: cacheRead }),
    ...(cacheWrite !== undefined && { cache_write_tokens: cacheWrite }),
    ...(reasoning !== undefined && { output_reasoning_tokens: reasoning }),
  }
}

// Many entries match by how a name begins, so that `claude-sonnet-5-9`, once there is one, would cost what
// `claude-sonnet-5` costs.
function isOtherVersion(asked: string, found: string): boolean {
  const name = asked.trim().toLowerCase()
  return name.startsWith(found) && /^[-.]\d{1,2}(-\d{8}|-latest)?$/.test(name.slice(found.length))
}

/** The numbers of input tokens above which a token costs more. */
function tiersOf(price: number | { readonly tiers: readonly { readonly start: number }[] } | undefined): number[] {
  return typeof price === 'object' ? price.tiers.map(({ start }) => start) : []
}
