// Calls of items that left the list of their task. With another `key` in the code, the same item has another name, and
// must not repeat a call that it has made under the old one.
import type { OnceCall } from '../../journal/entries.ts'
import { taskOfItem } from '../../journal/paths.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { TaskDefinition } from '../definition.ts'
import { isFromOtherRun, onceCalls, toOnceCall } from './once.ts'

/** Returns the `once` calls of items that the list of the task no longer has, if they equal this call of an item. */
export function callsOfLeftItems(
  state: RunState,
  { of }: Pick<TaskDefinition, 'of'>,
  key: string,
): readonly OnceCall[] {
  const listed = new Set(of === undefined ? [] : state.tasks.get(of)?.items)
  const isLeft = (name: string): boolean => taskOfItem(name) === of && !listed.has(name)
  const mayHave =
    of !== undefined && (state.inheritedCalls.length > 0 || [...state.tasks.values()].some((task) => isLeft(task.name)))
  if (!mayHave) return []
  return onceCalls(state)
    .filter((call) => call.key === key && isLeft(call.task) && !(isFromOtherRun(call) && state.effects === 'again'))
    .map(toOnceCall)
}
