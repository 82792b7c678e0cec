// What a run has spent: in total, and in parts that can be priced without its calls. The price of a token depends on
// the model, the time and, for some models, the length of the call, so a part has the calls for which these are equal.
// The listing row has the parts, so that adding up money needs no journals.
import type { Usage } from '../entries.ts'
import { addTo, noUsage, type MutableUsage, type RunState } from './state.ts'

/** Calls to one model, within one half hour, of one class of length. */
export interface Spending {
  /** In UTC: `2026-11-16`. */
  readonly day: string
  /** The start of the half hour: `13:30`. Some providers charge less at night. */
  readonly time: string
  /** Calls of the whole day, in a run with many parts: `time` has no meaning. */
  readonly allDay?: true
  readonly model: string
  /** The price step that the input of each call exceeds, without reaching the next. Absent below the first. */
  readonly over?: number
  /** The calls of a child run, as a sum. */
  readonly mixed?: true
  readonly usage: MutableUsage
}

/**
 * Numbers of input tokens above which some model costs more per token. A price with another step is unknown for the
 * part that the step would split.
 */
const steps = [128_000, 199_999, 200_000, 271_999, 272_000, 512_000]

/** The row is written again with every finished task, so its size is bounded: further parts are per day. */
const mostParts = 96

/** `at`: when the calls were recorded. */
export function addSpending(
  { spent, spending }: Pick<RunState, 'spent' | 'spending'>,
  at: string,
  model: string,
  usage: Usage,
): void {
  addTo(spent, usage)
  const day = at.slice(0, 10)
  const time = `${at.slice(11, 14)}${at.slice(14, 16) < '30' ? '00' : '30'}`
  const over = steps.findLast((step) => usage.input > step)
  const kind = over === undefined ? {} : usage.calls > 1 ? ({ mixed: true } as const) : { over }
  const part = partFor(spending, usage, { day, time, model, ...kind })
  addTo(part.usage, usage)
}

type Described = Omit<Spending, 'usage'>

/** Finds or adds the part of a call. */
function partFor(spending: Map<string, Spending>, usage: Usage, described: Described): Spending {
  // sums are never combined: two of them together may have no price where each has one
  const known = described.mixed ? undefined : spending.get(keyOf(described, usage))
  if (known) return known
  if (spending.size < mostParts) return added(spending, usage, described)
  const coarse = { ...described, time: '00:00', allDay: true } as const
  return spending.get(keyOf(coarse, usage)) ?? added(spending, usage, coarse)
}

function added(spending: Map<string, Spending>, usage: Usage, described: Described): Spending {
  const part = { ...described, usage: { ...noUsage } }
  spending.set(keyIn(spending, usage, described), part)
  return part
}

/** The step after `over`; 0 is below the first. */
export function nextPriceStep(over: number): number {
  return steps.find((step) => step > over) ?? Number.POSITIVE_INFINITY
}

/** Restores the parts of a row, to add more to them. */
export function restoreSpending(parts: readonly Spending[]): Map<string, Spending> {
  const spending = new Map<string, Spending>()
  for (const part of parts) {
    const usage = { ...part.usage }
    spending.set(keyIn(spending, usage, part), { ...part, usage })
  }
  return spending
}

function keyIn(spending: ReadonlyMap<string, Spending>, usage: Usage, described: Described): string {
  return described.mixed && !described.allDay ? `${spending.size}` : keyOf(described, usage)
}

/** Calls without a price are a part of their own, or they would hide the price of the others. */
function keyOf({ day, time, allDay, model, over = 0, mixed }: Described, usage: Usage): string {
  return `${day} ${allDay ? 'all day' : time} ${mixed ? 'mixed' : over} ${isPriceable(usage)} ${model}`
}

/**
 * Whether usage can have a price. A call without tokens wasn't counted by its server. More cached tokens than input
 * come from model objects of old interface versions, some of which leave cached tokens out of the input.
 */
export function isPriceable({ calls, input, output, cacheRead = 0, cacheWrite = 0 }: Usage): boolean {
  if (![input, output, cacheRead, cacheWrite].every((count) => Number.isFinite(count) && count >= 0)) return false
  return cacheRead + cacheWrite <= input && (calls === 0 || input + output > 0)
}
