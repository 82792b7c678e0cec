// Runs that `copy` has moved to another store. In the source, such a run is parked, so that it cannot continue in both
// stores: it accepts no messages, and only a requeue that names the same move takes it back.
import { RepriseError } from '../../base/errors.ts'
import { rootRunId } from '../../journal/paths.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { Store } from '../../stores/store.ts'
import { readSummary } from './row-summary.ts'

export interface Move {
  readonly to: string
  readonly arrived?: true
}

interface Suspended {
  readonly suspended?: RunState['suspended'] | undefined
}

export function moveOf({ suspended }: Suspended): Move | undefined {
  if (suspended?.reason !== 'moved') return undefined
  return { to: suspended.to ?? 'another store', ...(suspended.arrived ? { arrived: true } : {}) }
}

/** Reads the root, since the state of a child run does not show the move. */
export async function findMove(store: Store, state: Suspended & Pick<RunState, 'run'>): Promise<Move | undefined> {
  const root = rootRunId(state.run)
  if (root === state.run) return moveOf(state)
  const row = await store.row(root)
  return row && moveOf(readSummary(row))
}

export function runMoved(run: string, { to }: Move): RepriseError {
  const words = `run ${run} was moved to ${to} and continues only there`
  return new RepriseError('RUN_MOVED', words, { runId: run, next: { type: 'requeue', runId: run } })
}
