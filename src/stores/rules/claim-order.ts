// What `claim` looks for: runs of a worker's lanes, those of the highest priority first.
import type { Lane, Priority } from '../store.ts'

export const highestFirst: readonly Priority[] = [1, 0, -1]

/** A row is in the lane of its own crew, version and format. */
export function isSameLane(a: Lane, b: Lane): boolean {
  return a.crew === b.crew && a.version === b.version && a.format === b.format
}
