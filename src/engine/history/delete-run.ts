// Taking a run out of a store. A run and the runs that work for it are one record: they go as a whole or stay as a
// whole. The runs that were made from it carry copies of all that they inherited, so deleting it breaks none of them.
import { RepriseError } from '../../base/errors.ts'
import { rootRunId, isInTreeOf } from '../../journal/paths.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import type { Engine } from '../definition.ts'
import { reserveRunInTurn } from '../lease/local-runs.ts'
import { runNotFoundError } from '../read/run-not-found.ts'
import { allRows } from './all-rows.ts'

/**
 * RUN_HELD while somebody executes it, or one that works for it; RUN_NOT_FOUND. A damaged run can be deleted too.
 * RUN_NEEDED for one that works for another: what it did would be done again.
 */
export async function deleteRun(engine: Engine, run: string): Promise<void> {
  const { store } = engine
  const root = rootRunId(run)
  if (root !== run && (await runExists(store, root))) {
    const words = `run ${run} works for run ${root} and goes with it`
    throw new RepriseError('RUN_NEEDED', words, { runId: run, next: { act: 'delete', runId: root } })
  }
  const unit = await runTreeRows(store, root)
  if (unit.every((row) => !isInTreeOf(row.run, run)) && !(await runExists(store, run)))
    throw runNotFoundError(store, run)
  await remove(engine, run)
}

async function remove(engine: Engine, run: string): Promise<void> {
  // the answer of a person that is being recorded keeps nobody waiting for long
  const free = await reserveRunInTurn(engine, run)
  try {
    await engine.store.delete(run)
  } finally {
    free()
  }
}

/** False when somebody executes it. */
export async function deleteIfFree(engine: Engine, run: string): Promise<boolean> {
  try {
    await remove(engine, run)
    return true
  } catch (error) {
    if (RepriseError.isInstance(error) && error.code === 'RUN_HELD') return false
    throw error
  }
}

/** A run that works for no other, and those that work for it. */
export async function runTreeRows(store: Store, root: string): Promise<RunRow[]> {
  return Array.fromAsync(allRows(store, { root }))
}

export async function runExists(store: Store, run: string): Promise<boolean> {
  try {
    return (await store.row(run)) !== undefined
  } catch (error) {
    if (RepriseError.isInstance(error) && error.code === 'JOURNAL_DAMAGED') return true
    throw error
  }
}
