// When a run is offered to a worker, and what is counted when its holders get nowhere. Every write of a store computes
// `readyAt` anew, so that `claim` is a search in an index and no wake is lost. A root and its child runs are one unit:
// only the root is offered, and what waits for any of them counts for it.
//
// `tries` says how long to pause before the next claim, `deaths` whether the run may be what ends its processes:
//
// | what happens to a root                                   | tries      | deaths             |
// | -------------------------------------------------------- | ---------- | ------------------ |
// | created                                                  | 0          | 0                  |
// | claimed                                                  | + 1        |                    |
// | acquired                                                 | at least 1 |                    |
// | progress: a step, a message, an end, in it or a child    | 0          | 0                  |
// | released: done, handed back, refused, the store was away |            |                    |
// | its holder's process is gone, or its lease has expired   |            | + 1 if tries > 0:  |
// | and another process takes it                             |            | it got no further  |
// | that holder comes back and releases: it was only paused  |            | - 1                |
//
// No number of tries takes a run out of the queue: the pauses only grow, up to a quarter of an hour. A run with a death
// is a suspect, and no process is given one while its lease of another lasts: if one ends its process, it takes no
// other suspect along. After five deaths the next holder puts the run aside, in its journal (`isFatal` in
// engine/run/lifecycle.ts).
import type { Batch, RunId, RunStatus } from '../store.ts'

/** What a store knows of a root. */
export interface ReadinessFacts {
  readonly run: RunId
  /** Completed or cancelled. */
  readonly ended: boolean
  /** When its journal says that it wants a worker: in ms since 1970, by the store's clock. */
  readonly dueAt: number | undefined
  /** Unrecorded messages to the unit. They wake it whatever its journal says. */
  readonly messages: number
  /** How often it was claimed since it last got further. */
  readonly tries: number
  /** When its lease expires, if it has one. */
  readonly expiresAt: number | undefined
}

/** Messages of a cancelled run are recorded no more: those that are left in its inbox don't wake it. */
export function recordsMessages(status: RunStatus | undefined): boolean {
  return status !== 'cancelled'
}

/**
 * Undefined: it isn't offered. Always a whole number: with the run's name it identifies a wake.
 */
export function readyAt(
  { run, ended, dueAt, messages, tries, expiresAt = 0 }: ReadinessFacts,
  now: number,
): number | undefined {
  if (ended) return undefined
  const due = messages > 0 ? now : dueAt
  if (due === undefined) return undefined
  const pause = pauseMs(run, tries)
  // from now on: what has been due for an hour would not wait at all
  const from = pause === 0 ? due : Math.max(due, now)
  return Math.ceil(Math.max(from, expiresAt)) + pause
}

/** With so many deaths, the next holder puts a run aside instead of executing it. */
export const deathLimit = 5

/** Whether the pauses before the next claim have grown as long as they get. */
export function isStuck({ tries }: Pick<DeathCount, 'tries'>): boolean {
  return tries >= doublingLimit + 2
}

/** The exponent of the longest pause: 512 to 1,024 seconds. */
export const doublingLimit = 9

/** None after the first try, then 1 s, 2 s, 4 s …, or up to twice that: runs that were tried together drift apart. */
function pauseMs(run: RunId, tries: number): number {
  return tries < 2 ? 0 : 2 ** Math.min(tries - 2, doublingLimit) * (1_000 + runJitter(run))
}

/** 0 to 999, by the bytes of the name: every store computes the same, in its own language. */
function runJitter(run: RunId): number {
  const bytes = new TextEncoder().encode(run)
  return (bytes.reduce((sum, byte, index) => sum + byte * (index + 1), 0) * 619) % 1_000
}

/** What is counted of a root. */
export interface DeathCount {
  readonly tries: number
  readonly deaths: number
  /** The token of the lease that the last death was counted for. */
  readonly died: number
}

export const neverTried: DeathCount = { tries: 0, deaths: 0, died: 0 }

/** After the holder of the lease `token` ended without a release, or seems to have. */
export function afterDeath({ tries, deaths, token }: DeathCount & { readonly token: number }): Partial<DeathCount> {
  return tries > 0 ? { deaths: deaths + 1, died: token } : {}
}

/** After a release under the lease `token`, which is another process's by now. */
export function afterReturn({ deaths, died }: DeathCount, token: number): Partial<DeathCount> {
  return died === token && deaths > 0 ? { deaths: deaths - 1, died: 0 } : {}
}

/** `now` is the store's clock, and never 0: zero would come before everything that has waited for long. */
export function dueTime({ due }: Pick<Batch, 'due'>, now: number): number | undefined {
  return due === 'now' ? now : due
}
