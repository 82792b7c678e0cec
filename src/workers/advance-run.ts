// Advances one claimed run until it leaves this process. A run that cannot be advanced stays due; the store offers it
// again after growing pauses.
import type { AdvanceOutcome } from '../crew/verbs/advance.ts'
import type { DispatchedOptions } from '../crew/queue/dispatcher.ts'
import type { World } from '../engine/definition.ts'
import type { TimedLease } from '../engine/lease/leased-tree.ts'
import type { DispatchedBy } from '../journal/entries.ts'
import type { OnWorkerEvent, WorkerEvent } from './report/events.ts'
import { crewOf, type ServedCrew, type ServedStore } from './served.ts'
import { defined } from '../base/options.ts'
import type { Clock } from '../base/clock.ts'

export interface AdvanceWork {
  readonly clock: Pick<World, 'monotonic'>
  readonly report: OnWorkerEvent
  /** The time for a run that is claimed now, within the limits of the caller. */
  time(limits?: Pick<DispatchedOptions, 'until' | 'sliceSeconds'>): Time
}

/** Rejects if the run could not be advanced for a reason outside the run. */
export async function advanceRun(
  served: ServedStore,
  lease: TimedLease,
  known: ServedCrew | undefined,
  { clock, report, time }: AdvanceWork,
  via?: DispatchedBy,
): Promise<AdvanceOutcome> {
  const { store } = served
  const { run: runId } = lease
  const began = clock.monotonic()
  let crew: string | undefined
  try {
    const owner = known ?? (await crewOfRun(served, runId))
    crew = owner.name
    report({ type: 'claimed', runId, crew })
    using limits = time()
    const advanced = await owner.advance(lease, limits, via)
    const seconds = Math.round(clock.monotonic() - began) / 1_000
    report({ type: 'left', runId, crew, seconds, ...eventOutcome(advanced) })
    return advanced
  } catch (error) {
    report({ type: 'refused', runId, ...defined({ crew }), error })
    // no-op if the run was advanced, since its lease was released then
    await store.release(lease).catch(() => undefined)
    throw error
  }
}

async function crewOfRun(served: ServedStore, runId: string): Promise<ServedCrew> {
  const row = await served.store.row(runId)
  const crew = row && crewOf(served, row)
  if (crew) return crew
  throw new Error(row ? `it belongs to crew ${row.crew}, version "${row.version}", now` : 'it was deleted')
}

function eventOutcome(
  advanced: AdvanceOutcome,
): Pick<Extract<WorkerEvent, { type: 'left' }>, 'outcome' | 'at' | 'why' | 'error'> {
  switch (advanced.status) {
    case 'waiting':
      return { outcome: 'waiting', ...defined({ at: isoTime(advanced.at), why: advanced.why }) }
    case 'failed':
      return { outcome: 'failed', error: advanced.error, ...defined({ at: isoTime(advanced.retryAt) }) }
    case 'completed':
    case 'cancelled':
    case 'more':
    case 'held':
    case 'other':
      return { outcome: advanced.status }
  }
}

function isoTime(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString()
}

/** `until` hands the run back between two steps, `signal` at once. Dispose of it when the run has left. */
export interface Time extends Disposable {
  readonly until: AbortSignal
  readonly signal: AbortSignal
}

/** The earliest of these ends the time. A slice starts now. */
interface TimeLimits {
  readonly until: readonly (AbortSignal | undefined)[]
  readonly sliceSeconds: readonly (number | undefined)[]
  readonly signal: AbortSignal
}

/**
 * Not built on AbortSignal.any, which holds its signals weakly: a signal without another reference is
 * garbage-collected, and the slice would never end (Node 24.21).
 */
export function startTime({ until, sliceSeconds, signal }: TimeLimits, clock: Pick<Clock, 'timer'>): Time {
  const up = new AbortController()
  const over = new AbortController()
  for (const one of until) {
    if (one?.aborted) up.abort()
    one?.addEventListener('abort', () => up.abort(), { signal: over.signal })
  }
  const shortest = Math.min(...sliceSeconds.filter((one) => one !== undefined))
  const timer = shortest === Infinity ? undefined : clock.timer(shortest * 1_000, () => up.abort())
  return {
    until: up.signal,
    signal,
    [Symbol.dispose]() {
      timer?.[Symbol.dispose]()
      over.abort()
    },
  }
}
