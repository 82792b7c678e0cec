// How many runs a claim may take.
import type { Lane, ClaimLimits } from '../store.ts'

/** Calls `countHeld` only if there is a `crewLimit`. */
export function claimableCount({ limit, crewLimit }: ClaimLimits, countHeld: () => number): number {
  return Math.max(0, crewLimit === undefined ? limit : Math.min(limit, crewLimit - countHeld()))
}

/** Each crew once: limits apply to a crew in all its versions. */
export function laneCrews(lanes: readonly Lane[]): Set<string> {
  return new Set(lanes.map(({ crew }) => crew))
}
