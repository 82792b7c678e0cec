// A dispatcher, such as a queue, a workflow engine or a platform that calls functions, decides which process advances a
// run, and when. The journal stays the source of truth, so a dispatcher may lose or repeat wakes: workers find ready
// runs in the store anyway, and a call for a run that is not ready executes nothing.
import { check, type Check } from '../../base/options.ts'
import type { DispatchedBy } from '../../journal/entries.ts'
import type { Lane } from '../../stores/store.ts'
import type { AdvanceOutcome } from '../verbs/advance.ts'
import { realClock } from '../../base/clock.ts'
import { rootRunId } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { messageOf } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import type { OpenCrew } from '../open-crew.ts'

/** A run to advance. Its lane determines which workers can do so. */
export interface Wake extends Lane {
  readonly runId: string
  /** Wakes with the same key are equivalent: a queue can drop duplicates. */
  readonly key?: string
}

export interface Dispatcher {
  /** Name of the dispatcher, shown to people: `restate`. */
  readonly name: string

  /**
   * Requests that a run be advanced: now, or at a time in milliseconds since 1970. Called after the run became ready in
   * the store. Resolves when the request is handed over; rejects if that fails. The sweep of a worker repeats failed
   * and lost requests, and requests with a later time if the dispatcher has no timers.
   */
  wake(run: Wake, at?: number): Promise<void>

  /**
   * Advances runs in this process until the signal aborts. Resolves when no more calls arrive; rejects if serving is
   * impossible. Not implemented by dispatchers for platforms that call a function for each run (`reprise/http`).
   */
  serve?(work: DispatcherWork): Promise<void>
}

/** What a worker process offers to a dispatcher. */
export interface DispatcherWork {
  /** Lanes of the runs that this process can advance. */
  readonly lanes: readonly Lane[]
  readonly concurrency: number
  readonly signal: AbortSignal
  /**
   * Advances a ready run until it rests, its time is up or `until` aborts; stops only between two steps. Waits for a
   * free slot in this process. Rejects if the run cannot be advanced now; nothing is lost, and the run stays ready.
   */
  advance(runId: string, options?: DispatchedOptions): Promise<AdvanceOutcome>
  /** Cancels a run for a person who did so in the user interface of the dispatcher. */
  cancel(runId: string, by: string): Promise<void>
  /** Writes a line to the log of the worker. */
  tell(text: string): void
}

export interface DispatchedOptions {
  readonly until?: AbortSignal | undefined
  /** Time limit in seconds, counted from when the run is claimed. */
  readonly sliceSeconds?: number | undefined
  /** Id of this call in the dispatcher. */
  readonly via?: DispatchedBy['id']
}

/** Returns when a run should be advanced again, in milliseconds since 1970. Undefined if other events decide. */
export function nextWakeAt(outcome: AdvanceOutcome, now: number = realClock.now().getTime()): number | undefined {
  switch (outcome.status) {
    case 'more':
      return now
    case 'waiting':
      return outcome.at
    case 'failed':
      return outcome.retryAt
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

/** How long to wait for a dispatcher: not long, since a wake is only a hint. */
const timeoutMs = 1_000

/**
 * Notifies the dispatcher of the crew, if it has one, that a run is ready. Never rejects: the sweep of a worker finds
 * runs whose wake was lost.
 */
export async function wakeRun(open: OpenCrew, run: string, at?: number): Promise<void> {
  const { dispatcher, definition } = open
  if (!dispatcher) return
  try {
    const { store, world } = await open.engine()
    // a child run is advanced together with its root
    const root = rootRunId(run)
    const row = await store.row(root)
    if (!row || isEnded(row.status)) return
    const { crew, version, format } = row
    const woken = dispatcher.wake({ runId: root, crew, version, format }, at)
    const wakeEnded = new AbortController()
    const timeout = world.sleep(timeoutMs, wakeEnded.signal).catch(() => undefined)
    await Promise.race([woken, timeout]).finally(() => wakeEnded.abort())
    woken.catch(warn)
  } catch (error) {
    warn(error)
  }

  function warn(error: unknown): void {
    const why = redact(messageOf(error))
    definition.logger.warn(
      `run ${run}: ${dispatcher?.name} could not be notified that the run is ready; a worker's sweep will retry: ${why}`,
    )
  }
}
