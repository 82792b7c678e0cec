// When a run is offered to a worker, and what is counted when its holders make no progress. Every write of a store
// recomputes `readyAt`, so that `claim` is a search in an index and no wake is lost. Only the root of a run tree is
// offered, and a message to any run of the tree makes it ready.
//
// `tries` decides how long to pause before the next claim, `deaths` whether the run may be what ends its processes:
//
// | what happens to a root                                     | tries      | deaths                       |
// | ---------------------------------------------------------- | ---------- | ---------------------------- |
// | created                                                    | 0          | 0                            |
// | claimed                                                    | + 1        |                              |
// | acquired                                                   | at least 1 |                              |
// | progress in the tree: a step, a message, an end            | 0          | 0                            |
// | released: done, handed back, refused, store unreachable    |            |                              |
// | its holder's process died or its lease expired,            |            | + 1 if tries > 0: it made no |
// | and another process takes it                               |            | progress                     |
// | that holder comes back and releases: it was only suspended |            | - 1                          |
//
// No number of tries takes a run out of the queue: the pauses only grow, up to 17 minutes. A run with a death is a
// suspect, and a process gets no suspect while it holds another: if one ends its process, it takes no other suspect
// along. After five deaths the next holder parks the run in its journal (`isFatal` in engine/run/resume-run.ts).
import type { Batch, RunId, RunStatus } from '../store.ts'

/** The inputs of `readyAt`. */
export interface ReadinessFacts {
  readonly run: RunId
  /** Completed or cancelled. */
  readonly ended: boolean
  /** When its journal next needs a worker: in ms since 1970, by the store's clock. */
  readonly dueAt: number | undefined
  /** Number of unrecorded messages to the tree. They wake the root whatever its journal says. */
  readonly messages: number
  /** Number of claims since the last progress. */
  readonly tries: number
  /** When its lease expires, if it is leased. */
  readonly expiresAt: number | undefined
}

/** A cancelled run records no messages, so messages left in its inbox don't wake it. */
export function recordsMessages(status: RunStatus | undefined): boolean {
  return status !== 'cancelled'
}

/**
 * When a root is ready:
 *
 * | ended | messages | due  | tries     | ready at                                       |
 * | ----- | -------- | ---- | --------- | ---------------------------------------------- |
 * | yes   |          |      |           | never                                          |
 * | no    | none     | none |           | never                                          |
 * | no    | none     | set  | 0 or 1    | due, or the end of its lease if that is later  |
 * | no    | some     |      | 0 or 1    | now, or the end of its lease if that is later  |
 * | no    | either   | set  | 2 or more | the latest of due, now and the end of its lease, plus a pause |
 *
 * Undefined: never. Always a whole number: together with the run's id it identifies a wake.
 */
export function readyAt(
  { run, ended, dueAt, messages, tries, expiresAt = 0 }: ReadinessFacts,
  now: number,
): number | undefined {
  if (ended) return undefined
  const due = messages > 0 ? now : dueAt
  if (due === undefined) return undefined
  const pause = pauseMs(run, tries)
  // the pause starts now: a run that has been due for an hour would not wait at all
  const from = pause === 0 ? due : Math.max(due, now)
  return Math.ceil(Math.max(from, expiresAt)) + pause
}

/** With this many deaths, the next holder parks the run instead of executing it. */
export const deathLimit = 5

/** Whether the pause before the next claim has reached its maximum. */
export function isStuck({ tries }: Pick<DeathCount, 'tries'>): boolean {
  return tries >= doublingLimit + 2
}

/** Exponent of the longest pause: 512 to 1,024 seconds. */
export const doublingLimit = 9

/** None after the first try, then 1 s, 2 s, 4 s …, up to twice that: runs that were tried together drift apart. */
function pauseMs(run: RunId, tries: number): number {
  return tries < 2 ? 0 : 2 ** Math.min(tries - 2, doublingLimit) * (1_000 + runJitter(run))
}

/** 0 to 999, from the bytes of the id: every store computes the same number, in its own language. */
function runJitter(run: RunId): number {
  const bytes = new TextEncoder().encode(run)
  return (bytes.reduce((sum, byte, index) => sum + byte * (index + 1), 0) * 619) % 1_000
}

/** The counters of a root. */
export interface DeathCount {
  readonly tries: number
  readonly deaths: number
  /** The token of the lease that the last death was counted for. */
  readonly died: number
}

export const neverTried: DeathCount = { tries: 0, deaths: 0, died: 0 }

/** Counters after the holder of the lease `token` ended, or seems to have ended, without a release. */
export function afterDeath({ tries, deaths, token }: DeathCount & { readonly token: number }): Partial<DeathCount> {
  return tries > 0 ? { deaths: deaths + 1, died: token } : {}
}

/** Counters after a release of the lease `token`, which another process has taken over. */
export function afterReturn({ deaths, died }: DeathCount, token: number): Partial<DeathCount> {
  return died === token && deaths > 0 ? { deaths: deaths - 1, died: 0 } : {}
}

/** `now` is the store's clock, and never 0, which would come before every other run. */
export function dueTime({ due }: Pick<Batch, 'due'>, now: number): number | undefined {
  return due === 'now' ? now : due
}
