// One claimed run, until it leaves this process. What cannot be advanced stays due, and the store offers it again,
// later each time.
import type { AdvanceOutcome } from '../crew/advance/advance.ts'
import type { DispatchedOptions } from '../crew/queue/dispatcher.ts'
import { defined } from '../base/defined.ts'
import type { World } from '../engine/definition.ts'
import type { TimedLease } from '../engine/lease/lease-keeper.ts'
import type { RepriseError } from '../base/errors.ts'
import type { DispatchedBy } from '../journal/entries.ts'
import type { OnWorkerEvent, Outcome } from './report/events.ts'
import { crewOf, type ServedCrew, type ServedStore } from './served.ts'
import type { Time } from './time.ts'

export interface AdvanceWork {
  readonly clock: Pick<World, 'monotonic'>
  readonly hear: OnWorkerEvent
  /** How long a run that is claimed now may be held, beside what whoever asked for it says. */
  time(asked?: Pick<DispatchedOptions, 'until' | 'sliceSeconds'>): Time
}

/** Everything is told to `hear`. Rejects when the run could not be advanced, for a reason that isn't its own. */
export async function advanceRun(
  served: ServedStore,
  lease: TimedLease,
  known: ServedCrew | undefined,
  { clock, hear, time }: AdvanceWork,
  via?: DispatchedBy,
): Promise<AdvanceOutcome> {
  const { store } = served
  const { run: runId } = lease
  const began = clock.monotonic()
  let crew: string | undefined
  try {
    const its = known ?? (await crewOfRun(served, runId))
    crew = its.name
    hear({ event: 'claimed', runId, crew })
    using given = time()
    const advanced = await its.advance(lease, given, via)
    const seconds = Math.round(clock.monotonic() - began) / 1_000
    hear({ event: 'left', runId, crew, seconds, ...eventOutcome(advanced) })
    return advanced
  } catch (error) {
    hear({ event: 'refused', runId, ...defined({ crew }), error })
    // where it was advanced, it is given back already
    await store.release(lease).catch(() => undefined)
    throw error
  }
}

async function crewOfRun(served: ServedStore, runId: string): Promise<ServedCrew> {
  const row = await served.store.row(runId)
  const crew = row && crewOf(served, row)
  if (crew) return crew
  throw new Error(row ? `it belongs to crew ${row.crew}, version "${row.version}", by now` : 'it was deleted meanwhile')
}

function eventOutcome(advanced: AdvanceOutcome): { outcome: Outcome; at?: string; error?: RepriseError } {
  switch (advanced.status) {
    case 'waiting':
      return { outcome: 'waiting', ...defined({ at: isoTime(advanced.at) }) }
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
