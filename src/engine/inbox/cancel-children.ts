// Cancels runs of nested crews with the work that they were for. A process may be killed halfway: doing it again does
// the rest.
import type { RunState } from '../../journal/state/state.ts'
import { shortWaitMs } from '../../stores/patient/patient-store.ts'
import type { Engine } from '../definition.ts'
import { openHold, type Hold } from '../lease/hold.ts'
import type { LeasedTree } from '../lease/leased-tree.ts'
import { readRunIfExists } from '../read/read-run.ts'
import { activeChildren } from '../task/children.ts'
import { cancelWithInbox } from './inbox.ts'

/** A run is cancelled as a whole: the open runs of its nested crews, too. */
export async function cancelChildren(engine: Engine, unit: LeasedTree, state: RunState): Promise<void> {
  for (const task of state.tasks.keys())
    for (const { run } of activeChildren(state, task)) await cancelChild(engine, unit, run)
}

/** Cancels the runs of nested crews whose tasks a resume has removed. */
export async function cancelRemovedTasks({ engine, tree: unit, state }: Hold): Promise<void> {
  const removed = new Set(state.taskChanges.flatMap((changes) => changes.removed ?? []))
  if (removed.size === 0) return
  const given = [...state.attempts.values()].filter(({ task, status }) => removed.has(task) && status === 'void')
  for (const { child } of given) if (child !== undefined) await cancelChild(engine, unit, child)
}

/** False when there was nothing left to cancel: a run that was never created, or has ended. */
export async function cancelChild(engine: Engine, unit: LeasedTree, run: string): Promise<boolean> {
  const read = await readRunIfExists(engine.store, run)
  if (!read || read.state.status === 'completed') return false
  if (read.state.status === 'cancelled') {
    await cancelChildren(engine, unit, read.state)
    return false
  }
  const hold = openHold(engine, unit, read, { limitMs: shortWaitMs })
  await cancelWithInbox(hold)
  await cancelChildren(engine, unit, hold.state)
  await hold.release()
  return true
}
