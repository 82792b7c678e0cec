// What a run has spent: in all, and in parts that can be priced without its calls. What a token costs depends on the
// model, on the time, and with some models on how long the call was; so a part has the calls for which these are equal.
// The row of a run has the parts, so that nobody needs to read journals to add up money.
import type { Usage } from '../entries.ts'
import { addTo, noUsage, type MutableUsage, type RunState } from './state.ts'

/** Calls of a run to one model, within one half hour, of one class of length. */
export interface Spending {
  /** In UTC: `2026-11-16`. */
  readonly day: string
  /** The beginning of the half hour: `13:30`. Some providers charge less at night. */
  readonly time: string
  /** Calls of any half hour of that day, of a run that has many parts: `time` says nothing. */
  readonly allDay?: true
  readonly model: string
  /** The step that the input of each call is above, and none reaches beyond the next; left out below the first. */
  readonly over?: number
  /** The calls of a crew, of which only the sum is known. */
  readonly mixed?: true
  readonly usage: MutableUsage
}

/**
 * The numbers of input tokens above which calls cost more per token, with one model or another. A price with another
 * step is unknown for the part that the step would cut in two.
 */
const steps = [128_000, 199_999, 200_000, 271_999, 272_000, 512_000]

/** The row is written again whenever a task ends: what comes after so many parts is told apart by the day alone. */
const mostParts = 96

/** `at`: when it was recorded. */
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

/** The part that it belongs to, which is made if it is not there. */
function partFor(spending: Map<string, Spending>, usage: Usage, described: Described): Spending {
  // never added to another: a sum of two may have no price where each of them has one
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

/** For more to be spent on top of the parts that a row has. */
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

/** Calls without a price are a part of their own, or the others would hide them. */
function keyOf({ day, time, allDay, model, over = 0, mixed }: Described, usage: Usage): string {
  return `${day} ${allDay ? 'all day' : time} ${mixed ? 'mixed' : over} ${isPriceable(usage)} ${model}`
}

/**
 * Whether counts can have a price. A call without any token is one that the server did not count. More cached tokens
 * than input come from model objects of old interface versions, some of which leave cached tokens out of their input.
 */
export function isPriceable({ calls, input, output, cacheRead = 0, cacheWrite = 0 }: Usage): boolean {
  if (![input, output, cacheRead, cacheWrite].every((count) => Number.isFinite(count) && count >= 0)) return false
  return cacheRead + cacheWrite <= input && (calls === 0 || input + output > 0)
}
