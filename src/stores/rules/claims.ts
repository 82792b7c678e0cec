// Rules of claims: how many runs a claim may take, and in which order.
import type { ClaimLimits, Lane, Priority, ReadyRun } from '../store.ts'

/** Calls `countHeld` only if there is a `crewLimit`. */
export function claimableCount({ limit, crewLimit }: ClaimLimits, countHeld: () => number): number {
  return Math.max(0, crewLimit === undefined ? limit : Math.min(limit, crewLimit - countHeld()))
}

/** Each crew once: limits apply to a crew in all its versions. */
export function laneCrews(lanes: readonly Lane[]): Set<string> {
  return new Set(lanes.map(({ crew }) => crew))
}

/** The order of claims: highest priority first, then the longest ready. */
export const highestFirst: readonly Priority[] = [1, 0, -1]

export function byClaim(a: Pick<ReadyRun, 'priority' | 'readyAt'>, b: Pick<ReadyRun, 'priority' | 'readyAt'>): number {
  return b.priority - a.priority || a.readyAt - b.readyAt
}

export function isSameLane(a: Lane, b: Lane): boolean {
  return a.crew === b.crew && a.version === b.version && a.format === b.format
}
