// Rules of claims: how many runs a claim may take, and in which order.
import type { ClaimLimits, Lane, Priority, ReadyRun } from '../store.ts'

/** Calls `countHeld` only if there is a `crewLimit`. */
export function claimableCount({ limit, crewLimit }: ClaimLimits, countHeld: () => number): number {
  return Math.max(0, crewLimit === undefined ? limit : Math.min(limit, crewLimit - countHeld()))
}

/** A limit as a whole number from 0 to `most`. */
export function wholeLimit(limit: number, most: number = Number.MAX_SAFE_INTEGER): number {
  return Math.min(Math.max(Math.ceil(limit), 0), most)
}

/** A ready root from the row of a database. */
export function toReadyRun(root: Omit<ReadyRun, 'readyAt'> & { readonly ready_at: number }): ReadyRun {
  const { run, crew, version, format, priority, ready_at: readyAt } = root
  return { run, crew, version, format, priority, readyAt }
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
