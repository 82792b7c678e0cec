// Incarnations distinguish a run from all other runs that had, have or will have its id: see `run.created`.
import { digest } from '../journal/hash.ts'
import type { OutputPlace } from '../journal/entries.ts'
import type { RunState, TaskState } from '../journal/state/state.ts'
import type { RunRow } from '../stores/store.ts'
import { readSummary } from './row-summary.ts'

/**
 * The incarnation of an attempt's child run. Derived, not random: if the creation is repeated after a kill, also in a
 * store to which the parent was copied, it is the same run.
 */
export function childIncarnation({ incarnation }: Pick<RunState, 'incarnation'>, attempt: string): string {
  return digest([incarnation, attempt])
}

/** Where the output of a task was made: in this run, or in the run from which it was inherited. */
export function outputPlace({ run, incarnation }: RunState, { from, seq = 0 }: TaskState): OutputPlace {
  return from ?? { run, incarnation, seq }
}

/** Whether the row belongs to this incarnation, and not to a later run with its id. A damaged row may. */
export function isRowOfRun(row: RunRow, incarnation: string | undefined): boolean {
  const found = readSummary(row).incarnation
  return found === undefined || incarnation === undefined || found === incarnation
}

/** Whether a run was forked from `parent`, and not from an earlier run with its id. */
export function isForkedFrom(row: RunRow, parent: RunRow): boolean {
  return row.forkedFrom === parent.run && isRowOfRun(parent, readSummary(row).parentIncarnation)
}
