// Whether and when a run is offered to a worker: a value that every write of a store computes anew, so that `claim` is
// a search in an index and no wake is lost. A root and the runs that work for it are one unit: only the root is
// offered, and what waits for any of them counts for it.
import type { Batch, RunStatus } from '../store.ts'

/** What a store knows of a root. */
export interface Waiting {
  /** Completed or cancelled. */
  readonly ended: boolean
  /** When its journal says that it wants a worker: in ms since 1970, by the store's clock. */
  readonly dueAt: number | undefined
  /** Messages to the unit that somebody has yet to record. They wake it whatever its journal says. */
  readonly messages: number
  /** How often it was claimed since it last got further. */
  readonly tries: number
  /** When the lease that somebody has of it expires. */
  readonly expiresAt: number | undefined
}

/** Of a cancelled run nobody records messages any more: those that are left in its inbox wake nobody. */
export function recordsMessages(status: RunStatus | undefined): boolean {
  return status !== 'cancelled'
}

/** Claimed more often than this without getting further, a run is left alone: it may be what kills its workers. */
export const triesLimit = 10

/**
 * Undefined: nobody is to advance it. A whole number, whatever the times that were given: it names, with the run, why
 * somebody was told to advance it.
 */
export function readyAt({ ended, dueAt, messages, tries, expiresAt = 0 }: Waiting, now: number): number | undefined {
  if (ended || tries > triesLimit) return undefined
  const due = messages > 0 ? now : dueAt
  if (due === undefined) return undefined
  const backoff = backoffMs(tries)
  // from now on: what has been due for an hour would not wait at all
  const from = backoff === 0 ? due : Math.max(due, now)
  return Math.ceil(Math.max(from, expiresAt)) + backoff
}

/** Nothing after the first try, then 1 s, 2 s, 4 s … */
function backoffMs(tries: number): number {
  return tries < 2 ? 0 : 1000 * 2 ** (tries - 2)
}

/** `now` is the store's clock, and never 0: zero would come before everything that has waited for long. */
export function dueTime({ due }: Pick<Batch, 'due'>, now: number): number | undefined {
  return due === 'now' ? now : due
}
