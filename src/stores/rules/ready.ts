// When a run is offered to a worker, and what is counted when its holders make no progress. Every write of a store
// recomputes `readyAt`, so that `claim` is a search in an index and no wake is lost. Only the root of a run tree is
// offered, and a message to any run of the tree makes it ready.
//
// `tries` determines the pause before the next claim. `deaths` shows whether the run may be crashing its processes.
//
// | event in the life of a root                                 | tries      | deaths                         |
// | ----------------------------------------------------------- | ---------- | ------------------------------ |
// | it is created                                               | 0          | 0                              |
// | it is claimed                                               | + 1        |                                |
// | it is acquired                                              | at least 1 |                                |
// | its tree makes progress: a step, a message, an end          | 0          | 0                              |
// | its lease is released, for whatever reason                  |            |                                |
// | its holder is found dead, or another process takes over its |            | + 1 if tries > 0, which means  |
// | expired lease                                               |            | that there was no progress     |
// | that holder releases after all: it was alive, only paused   |            | - 1                            |
//
// No number of tries takes a run out of the queue: the pauses only grow, up to 17 minutes. A run with a death is a
// suspect. A process gets no suspect while it holds another, so a run that crashes its process takes no other suspect
// along. After five deaths, if the journal shows as many interrupted holders, the next holder parks the run (`isFatal`
// in engine/run/resume-run.ts).
import type { Batch, RunId, RunStatus, Tries } from '../store.ts'

/** The inputs of `readyAt`. */
export interface ReadinessFacts {
  readonly run: RunId
  /** Completed or cancelled. */
  readonly ended: boolean
  /** When its journal next needs a worker: in ms since 1970, by the store's clock. */
  readonly dueAt: number | undefined
  /** Number of unrecorded messages to the tree. Any of them makes the root ready, whether or not it is due. */
  readonly messages: number
  /** Number of claims since the last progress. */
  readonly tries: number
  /** When its lease expires, if it is leased. */
  readonly expiresAt: number | undefined
}

/** Whether messages in the inbox of such a run count as waiting: a cancelled run never records them. */
export function recordsMessages(status: RunStatus | undefined): boolean {
  return status !== 'cancelled'
}

/**
 * When a root is ready. `dueAt` doesn't matter while a message waits.
 *
 * | ended | messages | dueAt | tries     | ready at                                                  |
 * | ----- | -------- | ----- | --------- | --------------------------------------------------------- |
 * | yes   |          |       |           | never                                                     |
 * | no    | none     | unset |           | never                                                     |
 * | no    | none     | set   | 0 or 1    | the later of `dueAt` and `expiresAt`                      |
 * | no    | some     |       | 0 or 1    | the later of now and `expiresAt`                          |
 * | no    | none     | set   | 2 or more | the latest of `dueAt`, now and `expiresAt`, plus a pause  |
 * | no    | some     |       | 2 or more | the later of now and `expiresAt`, plus a pause            |
 *
 * Returns undefined for never. Always a whole number: together with the run's id it identifies a wake.
 */
export function readyAt(
  { run, ended, dueAt, messages, tries, expiresAt = 0 }: ReadinessFacts,
  now: number,
): number | undefined {
  if (ended) return undefined
  const due = messages > 0 ? now : dueAt
  if (due === undefined) return undefined
  const pause = pauseMs(run, tries)
  // counted from now: a run that was due an hour ago would have no pause otherwise
  const from = pause === 0 ? due : Math.max(due, now)
  return Math.ceil(Math.max(from, expiresAt)) + pause
}

/** With this many deaths, and as many in the journal, the next holder parks the run instead of executing it. */
export const deathLimit = 5

/** Whether the pause before the next claim has reached its maximum. */
export function isStuck({ tries }: Pick<Tries, 'tries'>): boolean {
  return tries >= doublingLimit + 2
}

/** How often the pause doubles: it grows from 1–2 s to 512–1,024 s. */
export const doublingLimit = 9

/** 0 after the first try, then 1 s, 2 s, 4 s …, lengthened by jitter: runs that were tried together drift apart. */
function pauseMs(run: RunId, tries: number): number {
  return tries < 2 ? 0 : 2 ** Math.min(tries - 2, doublingLimit) * (1_000 + runJitter(run))
}

/** 0 to 999, from the bytes of the id: every store computes the same number, in its own language. */
function runJitter(run: RunId): number {
  const bytes = new TextEncoder().encode(run)
  return (bytes.reduce((sum, byte, index) => sum + byte * (index + 1), 0) * 619) % 1_000
}

/** The counters of a root. */
export interface TryCounts extends Tries {
  /** The token of the lease that the last death was counted for; 0 if none. */
  readonly deathToken: number
}

export const neverTried: TryCounts = { tries: 0, deaths: 0, deathToken: 0 }

/** The changed counters after the holder of the lease `token` ended, or seems to have ended, without a release. */
export function afterDeath({ tries, deaths, token }: Tries & { readonly token: number }): Partial<TryCounts> {
  return tries > 0 ? { deaths: deaths + 1, deathToken: token } : {}
}

/** The changed counters after a release of the lease `token`, which another process had taken over. */
export function afterReturn({ deaths, deathToken }: TryCounts, token: number): Partial<TryCounts> {
  return deathToken === token && deaths > 0 ? { deaths: deaths - 1, deathToken: 0 } : {}
}

/** The due time of a batch in ms since 1970. `now` is the store's clock. */
export function dueTime({ due }: Pick<Batch, 'due'>, now: number): number | undefined {
  return due === 'now' ? now : due
}
