// The runs of a flow that continue one another by `flow.again`: `chat`, `chat~2`, … A conversation is such a chain.
import { RepriseError } from '../base/errors.ts'
import { previousRunId } from '../journal/paths.ts'
import type { Store } from '../stores/store.ts'
import { readSummary } from './row-summary.ts'

/** Returns the ids of the chain that a run is part of, oldest first. Runs that the store lacks are left out. */
export async function readRunChain(store: Store, run: string): Promise<[string, ...string[]]> {
  const chain: [string, ...string[]] = [run]
  for (let next = await nextOf(store, run); next !== undefined; next = await nextOf(store, next)) {
    if (!(await runExists(store, next))) break
    chain.push(next)
  }
  for (let [first] = chain; ;) {
    const previous = previousRunId(first)
    if (previous === undefined || (await nextOf(store, previous)) !== first) return chain
    chain.unshift(previous)
    first = previous
  }
}

/** Returns the run that continues a run. Undefined if there is none, or if the run is damaged. */
async function nextOf(store: Store, run: string): Promise<string | undefined> {
  const row = await store.row(run).catch((error: unknown) => {
    if (RepriseError.isInstance(error) && error.code === 'JOURNAL_DAMAGED') return undefined
    throw error
  })
  return row && readSummary(row).next
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
