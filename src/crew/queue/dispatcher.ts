// Port for systems that decide which process advances a run, and when: a queue, an engine, a platform that calls
// functions. The journal stays the source of truth: a dispatcher may lose or repeat wakes. Workers find ready runs in
// their rows anyway, and a call for a run that isn't ready is a no-op.
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

/** A run to advance; its lane says which workers can. */
export interface Wake extends Lane {
  readonly runId: string
  /** Equal for equivalent wakes, so that a queue can drop duplicates. */
  readonly key?: string
}

export interface Dispatcher {
  /** Name shown to people: `restate`. */
  readonly name: string

  /**
   * Requests that a run be advanced: now, or at a time in ms since 1970. Called after the run became ready on disk.
   * Resolves when the request is handed over; rejects if it cannot be. A worker's sweep then repeats it, as it does for
   * lost requests. A dispatcher without timers leaves later times to that sweep.
   */
  wake(run: Wake, at?: number): Promise<void>

  /**
   * Advances runs in this process until the signal aborts; resolves when no more calls arrive, rejects if serving is
   * impossible. Omitted for platforms that call a function for each run (`reprise/http`).
   */
  serve?(work: DispatcherWork): Promise<void>
}

/** What a process offers to a dispatcher. */
export interface DispatcherWork {
  /** Lanes of the runs that this process can advance. */
  readonly lanes: readonly Lane[]
  readonly concurrency: number
  readonly signal: AbortSignal
  /**
   * Advances a ready run until it rests, its time is up, or `until` aborts, between two steps. Waits for a free slot in
   * this process. Rejects if it is not possible now; nothing is lost then, the run stays ready.
   */
  advance(runId: string, options?: DispatchedOptions): Promise<AdvanceOutcome>
  /** Cancels a run for a person who did so in the dispatcher's interface. */
  cancel(runId: string, by: string): Promise<void>
  /** Logs a line in the worker's log. */
  tell(text: string): void
}

export interface DispatchedOptions {
  readonly until?: AbortSignal | undefined
  /** Time limit, counted from the start of the work. */
  readonly sliceSeconds?: number | undefined
  /** The dispatcher's id of this call. */
  readonly via?: DispatchedBy['id']
}

/** When an advanced run should be advanced again, in ms since 1970. Undefined if other events decide. */
export function nextWakeAt(advanced: AdvanceOutcome, now: number = realClock.now().getTime()): number | undefined {
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

/** A wake is only a hint, so don't wait longer than this. */
const timeoutMs = 1_000

/** Never rejects: a worker's sweep finds runs whose wake was lost. */
export async function wakeRun(open: OpenCrew, run: string, at?: number): Promise<void> {
  const { dispatcher, definition } = open
  if (!dispatcher) return
  try {
    const { store, world } = await open.engine()
    // a child run is advanced with its root
    const root = rootRunId(run)
    const row = await store.row(root)
    if (!row || isEnded(row.status)) return
    const { crew, version, format } = row
    const woken = dispatcher.wake({ runId: root, crew, version, format }, at)
    const over = new AbortController()
    const enough = world.sleep(timeoutMs, over.signal).catch(() => undefined)
    await Promise.race([woken, enough]).finally(() => over.abort())
    woken.catch(failed)
  } catch (error) {
    failed(error)
  }

  function failed(error: unknown): void {
    const why = redact(messageOf(error))
    definition.logger.warn(
      `run ${run}: ${dispatcher?.name} could not be notified that the run is ready; a worker's sweep will retry: ${why}`,
    )
  }
}
