// Priorities of queued runs: names in the API, numbers in stores.
import type { Priority } from '../../journal/entries.ts'

export const priorities = ['low', 'normal', 'high'] as const
export type PriorityName = (typeof priorities)[number]

const numbers: { readonly [name in PriorityName]: Priority } = { low: -1, normal: 0, high: 1 }

export function priorityNumber(name: PriorityName): Priority {
  return numbers[name]
}
