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

/** `at`: when it was recorded. */
export function spend(
  { spent, spending }: Pick<RunState, 'spent' | 'spending'>,
  at: string,
  model: string,
  usage: Usage,
): void {
  addTo(spent, usage)
  const part = { day: at.slice(0, 10), time: `${at.slice(11, 14)}${at.slice(14, 16) < '30' ? '00' : '30'}`, model }
  const over = steps.findLast((step) => usage.input > step)
  if (over !== undefined && usage.calls > 1) {
    // never added to another: a sum of two may have no price where each of them has one
    spending.set(`${spending.size}`, { ...part, mixed: true, usage: { ...usage } })
    return
  }
  const alike = over === undefined ? part : { ...part, over }
  const key = keyOf(alike, usage)
  const known = spending.get(key) ?? { ...alike, usage: { ...noUsage } }
  spending.set(key, known)
  addTo(known.usage, usage)
}

/** The step after `over`; 0 is below the first. */
export function nextStep(over: number): number {
  return steps.find((step) => step > over) ?? Number.POSITIVE_INFINITY
}

/** For more to be spent on top of the parts that a row has. */
export function spendingFrom(parts: readonly Spending[]): Map<string, Spending> {
  return new Map(
    parts.map((part, index) => {
      const key = part.mixed ? `${index}` : keyOf(part, part.usage)
      return [key, { ...part, usage: { ...part.usage } }]
    }),
  )
}

/** Calls without a price are a part of their own, or the others would hide them. */
function keyOf({ day, time, model, over = 0 }: Omit<Spending, 'usage'>, usage: Usage): string {
  return `${day} ${time} ${over} ${isPriceable(usage)} ${model}`
}

/**
 * Whether counts can have a price. A call without any token is one that the server did not count. More cached tokens
 * than input come from model objects of old interface versions, some of which leave cached tokens out of their input.
 */
export function isPriceable({ calls, input, output, cacheRead = 0, cacheWrite = 0 }: Usage): boolean {
  if (![input, output, cacheRead, cacheWrite].every((count) => Number.isFinite(count) && count >= 0)) return false
  return cacheRead + cacheWrite <= input && (calls === 0 || input + output > 0)
}
