// Incarnations distinguish a run from all other runs with its id, earlier, later or in another store: see
// `run.created`.
import { digest } from '../journal/hash.ts'
import type { OutputPlace } from '../journal/entries.ts'
import type { RunState, TaskState } from '../journal/state/state.ts'
import type { RunRow } from '../stores/store.ts'
import { readSummary } from './row-summary.ts'

/**
 * Returns the incarnation of an attempt's child run. It is derived, not random, so that a creation repeated after a
 * kill, even in a store to which the parent was copied, creates the same run.
 */
export function childIncarnation({ incarnation }: Pick<RunState, 'incarnation'>, attempt: string): string {
  return digest([incarnation, attempt])
}

/** Returns where the output of a task was produced: in this run, or in the run from which it was inherited. */
export function outputPlace({ run, incarnation }: RunState, { from, seq = 0 }: TaskState): OutputPlace {
  return from ?? { run, incarnation, seq }
}

/** Whether the row belongs to this incarnation, and not to a later run with its id. A damaged row is assumed to. */
export function isRowOfRun(row: RunRow, incarnation: string | undefined): boolean {
  const found = readSummary(row).incarnation
  return found === undefined || incarnation === undefined || found === incarnation
}

/** Whether a run was forked from `parent`, and not from an earlier run with its id. */
export function isForkedFrom(row: RunRow, parent: RunRow): boolean {
  return row.forkedFrom === parent.run && isRowOfRun(parent, readSummary(row).parentIncarnation)
}
