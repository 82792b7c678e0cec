// Deletes runs. A run tree is deleted as a whole or not at all. Forks hold copies of everything they inherited, so
// deleting their parent doesn't break them. The runs of a flow that continue one another are deleted together: they are
// one conversation under the id of the first, and without one of them, its messages would be lost.
import { RepriseError } from '../../base/errors.ts'
import { rootRunId, isInTreeOf } from '../../journal/paths.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import type { Engine } from '../definition.ts'
import { reserveRunInTurn } from '../lease/leased-tree.ts'
import { runNotFoundError } from '../../read/read-run.ts'
import { readRunChain, runExists } from '../../read/chain.ts'
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
  const chain = await readRunChain(store, run)
  if (chain[0] !== run) {
    const words = `run ${run} continues run ${chain[0]}, and can only be deleted with it`
    throw new RepriseError('RUN_NEEDED', words, { runId: run, next: { type: 'delete', runId: chain[0] } })
  }
  // newest first: an interrupted deletion can be repeated
  for (const one of chain.toReversed()) await remove(engine, one)
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
