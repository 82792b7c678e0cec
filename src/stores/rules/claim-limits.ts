// How many runs a claim may give, and of whose runs the held ones are counted for it.
import type { Lane, ClaimLimits } from '../store.ts'

/** `held` is asked only where there is something to keep to. */
export function claimableCount({ limit, crewLimit: most }: ClaimLimits, held: () => number): number {
  return Math.max(0, most === undefined ? limit : Math.min(limit, most - held()))
}

/** Each once. Limits are those of crews, whatever the version. */
export function laneCrews(lanes: readonly Lane[]): Set<string> {
  return new Set(lanes.map(({ crew }) => crew))
}
