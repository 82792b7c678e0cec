// What a run has spent: in all, and by day and model, which is what people who pay add up. The row of a run has it, so
// that nobody needs to read journals for that.
import type { Usage } from '../entries.ts'
import { addTo, noUsage, type MutableUsage, type RunState } from './state.ts'

/** Of a run, on one day, with one model. */
export interface Spending {
  /** In UTC: `2026-11-16`. */
  readonly day: string
  readonly model: string
  readonly usage: MutableUsage
}

/** `at`: when it was recorded. */
export function spend({ spent, spending }: RunState, at: string, model: string, usage: Usage): void {
  addTo(spent, usage)
  const day = at.slice(0, 10)
  const key = `${day} ${model}`
  const known = spending.get(key) ?? { day, model, usage: { ...noUsage } }
  spending.set(key, known)
  addTo(known.usage, usage)
}
