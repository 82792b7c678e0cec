// Cancels child runs together with their parent. Idempotent: if the process is killed halfway, cancelling again does
// the rest.
import type { RunState } from '../../journal/state/state.ts'
import { shortWaitMs } from '../../stores/patient/patient-store.ts'
import type { Engine } from '../definition.ts'
import { openHold, type Hold } from '../lease/hold.ts'
import type { LeasedTree } from '../lease/leased-tree.ts'
import { readRunIfExists } from '../read/read-run.ts'
import { activeChildren } from '../../journal/state/tally.ts'
import { cancelWithInbox } from './inbox.ts'

/** Cancels the child runs of a run that aren't finished. */
export async function cancelChildren(engine: Engine, tree: LeasedTree, state: RunState): Promise<void> {
  for (const task of state.tasks.keys())
    for (const { run } of activeChildren(state, task)) await cancelChild(engine, tree, run)
}

/** Cancels the child runs of tasks that a resume has removed. */
export async function cancelRemovedTasks({ engine, tree, state }: Hold): Promise<void> {
  const removed = new Set(state.taskChanges.flatMap((changes) => changes.removed ?? []))
  if (removed.size === 0) return
  const attempts = [...state.attempts.values()].filter(({ task, status }) => removed.has(task) && status === 'void')
  for (const { child } of attempts) if (child !== undefined) await cancelChild(engine, tree, child)
}

/** False if there is nothing to cancel: the run was never created, or has ended. */
export async function cancelChild(engine: Engine, tree: LeasedTree, run: string): Promise<boolean> {
  const read = await readRunIfExists(engine.store, run)
  if (!read || read.state.status === 'completed') return false
  if (read.state.status === 'cancelled') {
    await cancelChildren(engine, tree, read.state)
    return false
  }
  const hold = openHold(engine, tree, read, { limitMs: shortWaitMs })
  await cancelWithInbox(hold)
  await cancelChildren(engine, tree, hold.state)
  await hold.release()
  return true
}
