// The items of a task with `forEach`. Each is a task that no crew declares, filed next to the task that lists it:
// `chapter` is followed by `chapter[c1]` and `chapter[c7]`. An item is identified by its key: an item that leaves the
// list keeps its record, and continues with it if it is listed again.
import { ownMember } from '../../base/options.ts'
import { fillInItem } from '../../text/fill-in.ts'
import type { ListedItem, StoredOutput, Usage } from '../entries.ts'
import { inputAsText } from '../files.ts'
import type { Json } from '../json.ts'
import { itemName } from '../paths.ts'
import { itemsOf, placeItems } from './at-path.ts'
import { forgetOutput, voidAttempts } from './change-tasks.ts'
import { addUsage, noUsage, type RunState, type TaskState } from './state.ts'
import { spentOn } from './spent.ts'

/** Records the list of a task. Items that it no longer has are given up. */
export function listItems(state: RunState, list: TaskState, listed: readonly ListedItem[]): void {
  const items = listed.map(({ key, item }): TaskState => {
    const name = itemName(list.name, key)
    const known = state.tasks.get(name)
    const itemText = (path: readonly string[]): string | undefined => textOfItem(item, path)
    const texts = {
      description: fillInItem(list.description, itemText),
      ...(list.expectedOutput === undefined ? {} : { expectedOutput: fillInItem(list.expectedOutput, itemText) }),
      ...(list.agent === undefined ? {} : { agent: list.agent }),
    }
    if (known) delete known.removed
    const task = known ?? { name, id: '', description: '', status: 'pending', attempts: [], nested: [] }
    return Object.assign(task, texts, { of: list.name, item })
  })
  const kept = new Set(items)
  for (const item of itemsOf(state, list)) if (!kept.has(item)) leaveItem(state, item)
  for (const item of items) state.tasks.set(item.name, item)
  list.items = items.map(({ name }) => name)
  placeItems(state, list)
}

/** Gives up all items, since the task has an output without them. */
export function leaveItems(state: RunState, list: TaskState): void {
  for (const item of itemsOf(state, list)) {
    leaveItem(state, item)
    forgetOutput(item)
    item.status = 'pending'
  }
  delete list.items
}

function leaveItem(state: RunState, item: TaskState): void {
  voidAttempts(state, item)
  item.removed = true
}

/** The text for a placeholder of an item. Undefined if the item has no such member. */
export function textOfItem(item: Json, path: readonly string[]): string | undefined {
  const value = itemMember(item, path)
  return value === undefined ? undefined : inputAsText(value)
}

/** A member of an item, or the item itself. Undefined if the item has no such member. */
export function itemMember(item: Json, path: readonly string[]): Json | undefined {
  let value: Json | undefined = item
  for (const member of path)
    value =
      typeof value === 'object' && value !== null ? ownMember(value as { [name: string]: Json }, member) : undefined
  return value
}

/** The output of a task whose items are done: their outputs, in order. An item that failed or was skipped has none. */
export function listOutput(state: RunState, list: TaskState): string {
  const outputs = itemsOf(state, list).flatMap(({ output }) => (output ? [jsonOf(output)] : []))
  return `[${outputs.join(',')}]`
}

function jsonOf({ raw, structured }: Pick<StoredOutput, 'raw' | 'structured'>): string {
  return structured ? raw : JSON.stringify(raw)
}

/** The usage of a task and its items. For inherited items, the usage in the runs that made their outputs. */
export function usageWithItems(state: RunState, task: TaskState): Usage {
  const items = itemsOf(state, task).map((item) =>
    item.source === 'inherited' ? (item.output?.usage ?? noUsage) : spentOn(state, item),
  )
  return items.reduce(addUsage, spentOn(state, task))
}

/** The digest of the value that an item was last executed with. Undefined for an item that never was. */
export function recordedItem(
  { attempts }: Pick<RunState, 'attempts'>,
  { output, attempts: paths }: Pick<TaskState, 'output' | 'attempts'>,
): string | undefined {
  const fingerprint = output ? output.fingerprint : attempts.get(paths.at(-1) ?? '')?.fingerprint
  return fingerprint?.['item']
}
