// The order of claims: highest priority first, then the longest ready.
import type { Lane, Priority, ReadyRun } from '../store.ts'

export const highestFirst: readonly Priority[] = [1, 0, -1]

export function byClaim(a: Pick<ReadyRun, 'priority' | 'readyAt'>, b: Pick<ReadyRun, 'priority' | 'readyAt'>): number {
  return b.priority - a.priority || a.readyAt - b.readyAt
}

export function isSameLane(a: Lane, b: Lane): boolean {
  return a.crew === b.crew && a.version === b.version && a.format === b.format
}
