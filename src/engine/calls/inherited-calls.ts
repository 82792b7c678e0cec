// An index of the calls that a run inherited: a fork of a flow may have inherited thousands.
import type { OnceCall } from '../../journal/entries.ts'
import type { RunState } from '../../journal/state/state.ts'

const inheritedByTask = new WeakMap<readonly OnceCall[], ReadonlyMap<string, readonly OnceCall[]>>()

/** The inherited calls of a task. */
export function inheritedCallsOf(
  { inheritedCalls }: Pick<RunState, 'inheritedCalls'>,
  task: string,
): readonly OnceCall[] {
  let byTask = inheritedByTask.get(inheritedCalls)
  if (!byTask) {
    byTask = Map.groupBy(inheritedCalls, (call) => call.task)
    inheritedByTask.set(inheritedCalls, byTask)
  }
  return byTask.get(task) ?? []
}
