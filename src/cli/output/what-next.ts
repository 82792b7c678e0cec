// What answer, edit and invalidate print after they have left a message for a run.
import { isReady } from '../../engine/read/due.ts'
import { readSummary } from '../../engine/read/row-summary.ts'
import type { Store } from '../../stores/store.ts'
import { findRootRun } from '../find/find-run.ts'
import type { Commands } from '../write-command.ts'

/** Which process picks the message up, and what to do if there is none. */
export async function whatNext(commands: Commands, store: Store, runId: string): Promise<string> {
  if ((await store.holder(runId)) !== undefined)
    return `its process will continue with that; ${commands.advice({ type: 'show', runId })}`
  const root = await findRootRun(store, runId)
  const resume = commands.advice({ type: 'resume', runId: root })
  return (await waitsForWorker(store, root)) ? `a worker will continue the run; without one, ${resume}` : resume
}

async function waitsForWorker(store: Store, runId: string): Promise<boolean> {
  const row = await store.row(runId)
  return row?.status === 'suspended' && isReady(readSummary(row))
}
