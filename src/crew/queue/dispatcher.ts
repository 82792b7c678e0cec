// The port to whatever decides who advances which run, and when: a queue, an engine, a platform that calls functions.
// The journal stays the only truth. A dispatcher may lose what it is told, or tell it twice: what is ready stands in
// the row of the run, where workers look for it, and whoever is called for a run that wants nobody does nothing.
import { check, type Check } from '../../base/checks.ts'
import type { DispatchedBy } from '../../journal/entries.ts'
import type { Lane } from '../../stores/store.ts'
import type { AdvanceOutcome } from '../advance/advance.ts'

/** A run that somebody should advance, and the lane that says who can. */
export interface Wake extends Lane {
  readonly runId: string
  /** The same for wakes that say the same, so that a queue may drop all but one of them. */
  readonly key?: string
}

export interface Dispatcher {
  /** For people: `restate`. */
  readonly name: string

  /**
   * Asks for a run to be advanced: now, or at a time in ms since 1970. Called when what makes it ready is on disk.
   * Resolves when that was handed over, and rejects when it could not be; then a worker's sweep asks again, as it does
   * for what was lost. A dispatcher without timers leaves a later time to that sweep.
   */
  wake(run: Wake, at?: number): Promise<void>

  /**
   * Has runs advanced in this process, until the signal aborts: resolves when nothing more comes in. Rejects when it
   * cannot be done at all. Left out where a platform calls a function for each run (`reprise/http`).
   */
  serve?(work: DispatchedWork): Promise<void>
}

/** What a process does for a dispatcher. */
export interface DispatchedWork {
  /** The runs that it can advance. */
  readonly lanes: readonly Lane[]
  readonly concurrency: number
  readonly signal: AbortSignal
  /**
   * Advances a run, if it is ready, until it rests, its time is up, or `until` aborts, between two steps. Waits until
   * there is room for it here. Rejects when that is not possible now, with nothing lost: the run stays ready.
   */
  advance(runId: string, options?: DispatchedOptions): Promise<AdvanceOutcome>
  /** For good, on behalf of somebody who did that where the dispatcher shows its work. */
  cancel(runId: string, by: string): Promise<void>
  /** Says something to people, in the log of the worker. */
  tell(said: string): void
}

export interface DispatchedOptions {
  readonly until?: AbortSignal | undefined
  /** How long it is held, from when it begins. */
  readonly sliceSeconds?: number | undefined
  /** What the dispatcher calls this call. */
  readonly via?: DispatchedBy['id']
}

/** When a run that was advanced wants to be advanced again, in ms since 1970; undefined when somebody else decides. */
export function nextWakeAt(advanced: AdvanceOutcome, now: number = Date.now()): number | undefined {
  switch (advanced.status) {
    case 'more':
      return now
    case 'waiting':
      return advanced.at
    case 'failed':
      return advanced.retryAt
    case 'completed':
    case 'cancelled':
    case 'held':
    case 'other':
      return undefined
  }
}

export const dispatcherCheck: Check<Dispatcher> = check('a dispatcher: { name, wake, serve }', (value) => {
  const { name, wake, serve } = (value ?? {}) as { readonly [name: string]: unknown }
  const serves = serve === undefined || typeof serve === 'function'
  return typeof name === 'string' && name !== '' && typeof wake === 'function' && serves
})
