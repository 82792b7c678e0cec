// What tells a run apart from every other run that had, has or will have its id: see `incarnation` of `run.created`.
import { digest } from '../../journal/hash.ts'
import type { OutputPlace } from '../../journal/entries.ts'
import type { RunState, TaskState } from '../../journal/state/state.ts'
import type { RunRow } from '../../stores/store.ts'
import { readSummary } from './row-summary.ts'

/**
 * The incarnation of an attempt's child run. Derived, not drawn: a child whose creation was lost by a kill is made
 * again as the same run, also where the parent has been copied to.
 */
export function childIncarnation({ incarnation }: Pick<RunState, 'incarnation'>, attempt: string): string {
  return digest([incarnation, attempt])
}

/** Where the output of a task was made: here, or in the run that it was inherited from. */
export function outputPlace({ run, incarnation }: RunState, { from, seq = 0 }: TaskState): OutputPlace {
  return from ?? { run, incarnation, seq }
}

/** Whether this row is that of the run which is meant, and not of a later one with its id. A damaged row may be. */
export function isRowOfRun(row: RunRow, incarnation: string | undefined): boolean {
  const found = readSummary(row).incarnation
  return found === undefined || incarnation === undefined || found === incarnation
}

/** Whether a run was made from the other one, and not from an earlier one with its id. */
export function isMadeFrom(row: RunRow, parent: RunRow): boolean {
  return row.forkedFrom === parent.run && isRowOfRun(parent, readSummary(row).parentIncarnation)
}
