// Advances one claimed run for a slice: until it rests, its time is up, or the worker stops. A run that cannot be
// advanced stays ready; the store offers it again after growing pauses.
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
  /** `limits`: those of the caller, in addition to the worker's. */
  startSlice(limits?: Pick<DispatchedOptions, 'until' | 'sliceSeconds'>): Slice
}

/** Rejects if the run could not be advanced for a reason that its journal does not record. */
export async function advanceRun(
  served: ServedStore,
  lease: TimedLease,
  claimedFor: ServedCrew | undefined,
  { clock, report, startSlice: start }: AdvanceWork,
  via?: DispatchedBy,
): Promise<AdvanceOutcome> {
  const { store } = served
  const { run: runId } = lease
  const began = clock.monotonic()
  let crew: string | undefined
  try {
    const servedCrew = claimedFor ?? (await crewOfRun(served, runId))
    crew = servedCrew.name
    report({ type: 'claimed', runId, crew })
    using slice = start()
    const advanced = await servedCrew.advance(lease, slice, via)
    const seconds = Math.round(clock.monotonic() - began) / 1_000
    report({ type: 'left', runId, crew, seconds, ...eventOutcome(advanced) })
    return advanced
  } catch (error) {
    report({ type: 'refused', runId, ...defined({ crew }), error })
    // a no-op if `advance` has released the lease
    await store.release(lease).catch(() => undefined)
    throw error
  }
}

async function crewOfRun(served: ServedStore, runId: string): Promise<ServedCrew> {
  const row = await served.store.row(runId)
  const crew = row && crewOf(served, row)
  if (crew) return crew
  throw new Error(row ? `it now belongs to crew ${row.crew}, version "${row.version}"` : 'it was deleted')
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

/**
 * The time that a claimed run has: `until` ends it between two steps, `signal` at once. Dispose of it when the run
 * leaves this process.
 */
export interface Slice extends Disposable {
  readonly until: AbortSignal
  readonly signal: AbortSignal
}

/** The first of these ends the slice. */
interface SliceLimits {
  readonly until: readonly (AbortSignal | undefined)[]
  readonly sliceSeconds: readonly (number | undefined)[]
  readonly signal: AbortSignal
}

/**
 * Starts a slice now. Doesn't use AbortSignal.any, which references its sources weakly: a source without another
 * reference is garbage-collected, and the slice would never end (Node 24.21).
 */
export function startSlice({ until, sliceSeconds, signal }: SliceLimits, clock: Pick<Clock, 'timer'>): Slice {
  const ending = new AbortController()
  const over = new AbortController()
  for (const source of until) {
    if (source?.aborted) ending.abort()
    source?.addEventListener('abort', () => ending.abort(), { signal: over.signal })
  }
  const shortest = Math.min(...sliceSeconds.filter((one) => one !== undefined))
  const timer = shortest === Infinity ? undefined : clock.timer(shortest * 1_000, () => ending.abort())
  return {
    until: ending.signal,
    signal,
    [Symbol.dispose]() {
      timer?.[Symbol.dispose]()
      over.abort()
    },
  }
}
