// Tasks with `forEach`: executed once per item of a list, which a function of the user returns when the task's turn
// comes. Every life calls that function again and compares the list with the recorded one. An item is known by its key:
//
//   the item                              then
//   is recorded with an equal value       continues
//   is recorded with another value        starts over: a result is never handed to another item
//   is new                                is executed
//   is no longer in the list              is left: no more questions, child runs cancelled
import { messageOf, RepriseError } from '../../base/errors.ts'
import { describe } from '../../base/options.ts'
import type { ListedItem, NewEntry } from '../../journal/entries.ts'
import { explainChange } from '../../journal/describe.ts'
import { digest } from '../../journal/hash.ts'
import { strictJson, type Json } from '../../journal/json.ts'
import { itemName } from '../../journal/paths.ts'
import { itemsOf } from '../../journal/state/at-path.ts'
import { listOutput, recordedItem } from '../../journal/state/items.ts'
import type { AttemptState, RunState, TaskState } from '../../journal/state/state.ts'
import { activeChildren, isDone } from '../../journal/state/tally.ts'
import { redact } from '../../secrets/redact.ts'
import { namesWords } from '../../text/words.ts'
import type { ConditionContext, CrewDefinition, TaskDefinition } from '../definition.ts'
import { cancelChild } from '../inbox/inbox.ts'
import type { Life } from '../life.ts'
import { unlessAborted } from '../limits/time.ts'
import { failTask } from '../task/fail-task.ts'
import { checkOutputFile } from './after-task.ts'
import { conditionFingerprint, contextBefore, nextAttempt, runOutputs } from './task-context.ts'

export interface ForEachDefinition {
  /** The task as it is executed for an item, but without the item. */
  readonly template: TaskDefinition
  /** Calls the user's function, which should return a list. */
  list(context: ConditionContext): unknown
  /** Returns the key of an item, in the form that names have. */
  key(item: Json): string
  /** Defines the task of an item. */
  define(name: string, item: Json): TaskDefinition
}

export type ListTask = TaskDefinition & { readonly forEach: ForEachDefinition }

export function isListTask(task: TaskDefinition): task is ListTask {
  return task.forEach !== undefined
}

/** Longer lists are refused: each item is a task, which every view of the run shows. */
const itemLimit = 1_000

/**
 * Calls `forEach` and returns the tasks of the items. Records the list, unless it is recorded already. Rejects with
 * TASK_FAILED if there is no usable list, with INPUT_MISSING if an item lacks what a text uses, and with
 * DEFINITION_CHANGED if the list has changed and the caller refuses changes. Then nothing was written.
 */
export async function openList(life: Life, task: ListTask): Promise<readonly TaskDefinition[]> {
  const { state, crew, engine, tree } = life
  await life.ready()
  const listed = await readList(life, task)
  const items = listed.map(({ key, item }) => task.forEach.define(itemName(task.name, key), item))
  checkItems(task, items, state)
  const fingerprint = task.fingerprint(state.inputs, runOutputs(state))
  const known = state.tasks.get(task.name) as TaskState
  const last = state.attempts.get(known.attempts.at(-1) ?? '')
  const open = last?.status === 'open' ? last : undefined
  const because = open ? listChanges(state, known, open, { listed, fingerprint }) : []
  if (open && because.length === 0) return items
  checkChanges(life, task, because)
  const changed = items.filter(({ name }, index) => hasOtherValue(state, name, listed[index]?.item as Json))
  const left = itemsOf(state, known).filter(({ name }) => items.every((item) => item.name !== name))
  for (const { name } of [...changed, ...left])
    for (const child of activeChildren(state, name)) await cancelChild(engine, tree, child.run)
  const restarts = changed.map(
    ({ name }) => ({ type: 'task.invalidated', path: name, because: ['item changed'] }) as const,
  )
  const started: NewEntry = {
    type: 'task.started',
    path: nextAttempt(state, task.name),
    fingerprint,
    items: listed,
    ...(because.length > 0 ? { because } : {}),
    ...(known.attempts.length === 0 ? conditionFingerprint(crew, task, state) : {}),
  }
  await life.append([...restarts, started])
  return items
}

/** Completes a task whose items are done. Rejects with TASK_FAILED, after recording that, if every item failed. */
export async function completeList(life: Life, task: TaskDefinition): Promise<void> {
  const { state } = life
  const known = state.tasks.get(task.name) as TaskState
  const items = itemsOf(state, known)
  if (items.length > 0 && items.every(({ final }) => final)) {
    const message = `no item has an output: ${namesWords(items.map(({ name }) => name))} failed`
    throw await failTask({ life, task }, { code: 'TASK_FAILED', message })
  }
  const path = known.attempts.at(-1) as string
  await life.append([{ type: 'task.completed', path, structured: true, raw: listOutput(state, known) }])
}

async function readList(life: Life, { name, forEach }: ListTask): Promise<ListedItem[]> {
  const fails = (what: string, cause?: unknown): RepriseError =>
    new RepriseError('TASK_FAILED', `forEach of task ${name} ${what}`, { task: name, cause })
  const context = await contextBefore(life, name)
  let returned: unknown
  try {
    returned = await unlessAborted(
      Promise.try(() => forEach.list(context)),
      life.signal,
    )
  } catch (error) {
    life.signal.throwIfAborted()
    throw fails(`threw: ${redact(messageOf(error))}`, error)
  }
  if (!Array.isArray(returned)) throw fails(`returned ${describe(returned)}; it must return a list`)
  if (returned.length > itemLimit) {
    const words = `returned ${returned.length} items, more than the limit of ${itemLimit}; give an item to a crew with a list of its own, or use kickoffForEach`
    throw fails(words)
  }
  const json = strictJson(returned, 'list')
  if (!json.ok) throw fails(`returned a list in which ${json.path} is ${json.found}, which is not valid JSON`)
  const positions = new Map<string, number>()
  return (json.value as readonly Json[]).map((item, index) => {
    let key: string
    try {
      key = forEach.key(item)
    } catch (error) {
      throw fails(`returned an item, list[${index}], without a usable key: ${redact(messageOf(error))}`, error)
    }
    const other = positions.get(key)
    if (other !== undefined) {
      const words = `returned two items with the key ${key}, list[${other}] and list[${index}]; give each its own key`
      throw fails(words)
    }
    positions.set(key, index)
    return { key, item }
  })
}

/** Checks the texts and output files of all items, before the first of them is executed. */
function checkItems(task: TaskDefinition, items: readonly TaskDefinition[], { inputs }: RunState): void {
  const writers = new Map<string, string>()
  for (const item of items) {
    item.render(inputs, new Map())
    if (!item.outputFile) continue
    checkOutputFile(item, inputs)
    const file = item.outputFile.pathFor(inputs)
    const other = writers.get(file)
    if (other !== undefined) {
      const words = `the output file of task ${task.name} is ${file} for both ${other} and ${item.name}, so one would overwrite the other`
      throw new RepriseError('INPUT_INVALID', words, { task: item.name })
    }
    writers.set(file, item.name)
  }
}

/** Returns what differs from the recorded list, in words. */
function listChanges(
  state: RunState,
  known: TaskState,
  { fingerprint: before }: AttemptState,
  { listed, fingerprint }: { readonly listed: readonly ListedItem[] } & Pick<AttemptState, 'fingerprint'>,
): string[] {
  const recorded = itemsOf(state, known).map(({ name, item = null }) => [name, item] as const)
  const now = listed.map(({ key, item }) => [itemName(known.name, key), item] as const)
  const changes = explainChange(before, fingerprint)
  return digest(recorded) === digest(now) ? changes : [...changes, 'its list changed']
}

function checkChanges({ state, crew, options }: Life, { name }: TaskDefinition, changes: readonly string[]): void {
  if (changes.length === 0) return
  const words = `has changed since it was started: ${changes.join('; ')}`
  if (options.changed === 'refuse')
    throw new RepriseError('DEFINITION_CHANGED', `it ${words}`, { runId: state.run, task: name })
  crew.logger.warn(`run ${state.run}: task ${name} ${words}; items that are recorded with equal values are kept`)
}

/** Whether the item was executed with another value. A person's output belongs to the key, whatever the value. */
function hasOtherValue(state: RunState, name: string, item: Json): boolean {
  const known = state.tasks.get(name)
  if (!known) return false
  const status = state.attempts.get(known.attempts.at(-1) ?? '')?.status
  if (!isDone(known) && status !== 'open' && status !== 'refused') return false
  const before = recordedItem(state, known)
  return before !== undefined && before !== digest(item)
}

// Items as tasks of a crew, by name.

/** Returns the task of this name; for an item, the task that lists it. */
export function declaredTask({ tasks }: CrewDefinition, name: string): TaskDefinition | undefined {
  return tasks.find((task) => task.name === name) ?? tasks.find((task) => task.forEach && isItemOf(task, name))
}

export function isItemOf(task: Pick<TaskDefinition, 'name'>, name: string): boolean {
  return name.startsWith(`${task.name}[`) && name.endsWith(']')
}

/** Returns the task of a recorded item, whose value is not looked at: its fingerprint is that of the record. */
export function recordedItemTask({ name: of, forEach }: ListTask, state: RunState, name: string): TaskDefinition {
  const { template } = forEach
  const known = state.tasks.get(name)
  const item = known && recordedItem(state, known)
  return {
    ...template,
    name,
    of,
    fingerprint: (inputs, outputs) => ({
      ...template.fingerprint(inputs, outputs),
      ...(item === undefined ? {} : { item }),
    }),
  }
}

/** Returns the tasks of the crew, each followed by its recorded items. */
export function tasksWithItems(crew: CrewDefinition, state: RunState): TaskDefinition[] {
  return crew.tasks.flatMap((task) => [task, ...recordedItemTasks(task, state)])
}

export function recordedItemTasks(task: TaskDefinition, state: RunState): TaskDefinition[] {
  const known = state.tasks.get(task.name)
  if (!isListTask(task) || !known) return []
  return itemsOf(state, known).map(({ name }) => recordedItemTask(task, state, name))
}
