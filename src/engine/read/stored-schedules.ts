// The schedules that are kept by their runs: each has one that waits for its time.
import type { Priority, RunSchedule } from '../../journal/entries.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import { allRows } from '../history/all-rows.ts'
import { summaryOf } from './row-summary.ts'

export interface StoredSchedule extends RunSchedule {
  readonly crew: string
  /** The run that waits, and its time. */
  readonly runId: string
  readonly time: string
  readonly priority: Priority
}

export interface ScheduleFilter {
  readonly crew?: string | undefined
  readonly name?: string | undefined
}

/** In the order of their times. */
export async function storedSchedules(store: Store, filter: ScheduleFilter = {}): Promise<StoredSchedule[]> {
  const found = new Map<string, StoredSchedule>()
  for await (const { row, schedule, time } of scheduledRows(store, filter)) {
    const key = JSON.stringify([row.crew, schedule.name])
    const known = found.get(key)
    // a process that was killed may have left two
    if (known && known.time <= time) continue
    const { crew, run: runId, priority } = row
    found.set(key, { ...schedule, crew, runId, time, priority })
  }
  return [...found.values()].toSorted((a, b) => (a.time < b.time ? -1 : 1))
}

interface ScheduledRow {
  readonly row: RunRow
  readonly schedule: RunSchedule
  readonly time: string
}

/** Runs of schedules that were never begun. */
export async function* scheduledRows(store: Store, { crew, name }: ScheduleFilter): AsyncGenerator<ScheduledRow> {
  for await (const row of allRows(store, {
    roots: true,
    status: ['queued'],
    ...(crew === undefined ? {} : { crew }),
  })) {
    const { schedule, lives, dueAt } = summaryOf(row)
    if (!schedule || lives > 0 || (name !== undefined && schedule.name !== name)) continue
    yield { row, schedule, time: dueAt ?? row.createdAt }
  }
}

/** Whether a run is one of a schedule and was never begun: whoever begins it puts the next one into the queue. */
export function handsOn(state: RunState): state is RunState & { readonly schedule: RunSchedule } {
  return state.schedule !== undefined && state.status === 'queued' && state.lives === 0
}
