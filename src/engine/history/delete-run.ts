// Deletes runs. A run tree is deleted as a whole or not at all. Forks hold copies of everything they inherited, so
// deleting their parent doesn't break them. The runs of a flow that continue one another are deleted together: they are
// one conversation under the id of the first, and without one of them, its messages would be lost.
import { RepriseError } from '../../base/errors.ts'
import { rootRunId, isInTreeOf, previousRunId } from '../../journal/paths.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import type { Engine } from '../definition.ts'
import { reserveRunInTurn } from '../lease/leased-tree.ts'
import { runNotFoundError } from '../../read/read-run.ts'
import { readSummary } from '../../read/row-summary.ts'
import { allRows } from '../../read/all-rows.ts'

/**
 * Deletes a root with its child runs and the runs that continue it, even if they are damaged. Rejects with
 * RUN_NOT_FOUND; with RUN_HELD if a process holds one of them; with RUN_NEEDED for a child run, since its parent would
 * execute it again, and for a run that continues another one.
 */
export async function deleteRun(engine: Engine, run: string): Promise<void> {
  const { store } = engine
  const root = rootRunId(run)
  if (root !== run && (await runExists(store, root))) {
    const words = `run ${run} is a child run of run ${root}, and can only be deleted with it`
    throw new RepriseError('RUN_NEEDED', words, { runId: run, next: { type: 'delete', runId: root } })
  }
  const tree = await runTreeRows(store, root)
  if (tree.every((row) => !isInTreeOf(row.run, run)) && !(await runExists(store, run)))
    throw runNotFoundError(store, run)
  const previous = await runBefore(store, run)
  if (previous !== undefined) {
    const words = `run ${run} continues run ${previous}, and can only be deleted with it`
    throw new RepriseError('RUN_NEEDED', words, { runId: run, next: { type: 'delete', runId: previous } })
  }
  // newest first: an interrupted deletion can be repeated
  for (const one of (await runsFrom(store, run)).toReversed()) await remove(engine, one)
}

/** Returns the first of the runs that this one continues. */
async function runBefore(store: Store, run: string): Promise<string | undefined> {
  const previous = previousRunId(run)
  if (previous === undefined || !(await runExists(store, previous)) || (await nextOf(store, previous)) !== run)
    return undefined
  return (await runBefore(store, previous)) ?? previous
}

/** Returns a run and the runs that continue it, oldest first. */
async function runsFrom(store: Store, run: string): Promise<string[]> {
  const next = await nextOf(store, run)
  return next === undefined || !(await runExists(store, next)) ? [run] : [run, ...(await runsFrom(store, next))]
}

async function nextOf(store: Store, run: string): Promise<string | undefined> {
  const row = await store.row(run).catch((error: unknown) => {
    if (RepriseError.isInstance(error) && error.code === 'JOURNAL_DAMAGED') return undefined
    throw error
  })
  return row && readSummary(row).next
}

async function remove(engine: Engine, run: string): Promise<void> {
  // waits for brief work of this process on the run, such as recording an answer
  const free = await reserveRunInTurn(engine, run)
  try {
    await engine.store.delete(run)
  } finally {
    free()
  }
}

/** Deletes the run, unless a process holds it; then returns false. */
export async function deleteIfFree(engine: Engine, run: string): Promise<boolean> {
  try {
    await remove(engine, run)
    return true
  } catch (error) {
    if (RepriseError.isInstance(error) && error.code === 'RUN_HELD') return false
    throw error
  }
}

/** Returns the rows of a root and its child runs. */
export async function runTreeRows(store: Store, root: string): Promise<RunRow[]> {
  return Array.fromAsync(allRows(store, { root }))
}

/** Whether the store has the run. A damaged run exists. */
export async function runExists(store: Store, run: string): Promise<boolean> {
  try {
    return (await store.row(run)) !== undefined
  } catch (error) {
    if (RepriseError.isInstance(error) && error.code === 'JOURNAL_DAMAGED') return true
    throw error
  }
}
