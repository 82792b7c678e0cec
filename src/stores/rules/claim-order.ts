// What `claim` looks for: runs of a worker's lanes, those of the highest priority first, then those that have been
// ready for the longest time.
import type { Lane, Priority, ReadyRun } from '../store.ts'

export const highestFirst: readonly Priority[] = [1, 0, -1]

/** For sorting. */
export function byClaim(a: Pick<ReadyRun, 'priority' | 'readyAt'>, b: Pick<ReadyRun, 'priority' | 'readyAt'>): number {
  return b.priority - a.priority || a.readyAt - b.readyAt
}

/** A row is in the lane of its own crew, version and format. */
export function isSameLane(a: Lane, b: Lane): boolean {
  return a.crew === b.crew && a.version === b.version && a.format === b.format
}
