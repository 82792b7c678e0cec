// Plans the items of a task with `forEach`: the task as any other, then each recorded item by the same rules. The list
// is made again if one of its items is not kept, or if what it was made from has changed. The new list is known only
// when the task's turn comes: its items then find inherited and offered outputs by their keys.
import { RepriseError } from '../../base/errors.ts'
import type { ListedItem, NewEntry, PlannedTask } from '../../journal/entries.ts'
import { itemsOf } from '../../journal/state/at-path.ts'
import type { RunState } from '../../journal/state/state.ts'
import { namesWords } from '../../text/words.ts'
import type { CrewDefinition, TaskDefinition } from '../definition.ts'
import { recordedItemTasks, type ListTask } from '../run/for-each.ts'
import { positionsIn, waitsFor } from '../run/task-scheduler.ts'

export interface TaskPlan {
  readonly planned: PlannedTask
  readonly entry?: NewEntry | undefined
  /** Why an inherited output is stale. */
  readonly stale?: readonly string[]
}

interface Planner {
  /** Plans a task or an item by the rules for all tasks. */
  plan(task: TaskDefinition): Promise<TaskPlan>
  planExecution(task: TaskDefinition, why: string): TaskPlan
  /** Whether the caller wants everything from this task on executed. */
  isForced(task: TaskDefinition): boolean
  /** Whether the caller gives an output. */
  isGiven(task: TaskDefinition): boolean
}

/** Plans a task with `forEach` and its recorded items, in the order of the list. */
export async function planList(parent: RunState, task: ListTask, planner: Planner): Promise<TaskPlan[]> {
  const recorded = recordedItemTasks(task, parent)
  const given = recorded.find(planner.isGiven)
  if (given && planner.isGiven(task)) {
    const words = `outputs has ${task.name} and its item ${given.name}; give one of them`
    throw new RepriseError('OPTION_INVALID', words, { runId: parent.run })
  }
  const list = await planner.plan(task)
  const { action } = list.planned
  if (action === 'edit') return [list]
  const isForced = planner.isForced(task)
  const items: TaskPlan[] = []
  for (const item of recorded) if (!isForced || planner.isGiven(item)) items.push(await planner.plan(item))
  const changed = items.filter(({ planned }) => planned.action !== 'inherit').map(({ planned }) => planned.task)
  // only outputs of items are offered: the list itself is always made again
  if (action === 'execute') return [{ planned: list.planned }, ...items]
  if (changed.length === 0) return [withItems(list, parent, task), ...items]
  const why = `its ${changed.length > 1 ? 'items' : 'item'} ${namesWords(changed)} ${changed.length > 1 ? 'are' : 'is'} not kept`
  return [planner.planExecution(task, why), ...items]
}

/** Adds the list of the parent to the entry that inherits its output. */
function withItems(plan: TaskPlan, parent: RunState, { name }: TaskDefinition): TaskPlan {
  const { entry } = plan
  if (entry?.type !== 'task.inherited') return plan
  const recorded = itemsOf(parent, parent.tasks.get(name) ?? {})
  const items = recorded.map((known): ListedItem => ({
    key: known.name.slice(name.length + 1, -1),
    item: known.item ?? null,
  }))
  return { ...plan, entry: { ...entry, items } }
}

/** The names of the tasks that a task or item depends on. Lists and items may depend on all that the list waits for. */
export function dependenciesOf(crew: CrewDefinition, task: TaskDefinition): readonly string[] {
  if (!task.forEach && task.of === undefined) return task.context
  const list = crew.tasks[positionOf(crew, task)] ?? task
  return waitsFor(crew, list).map(({ name }) => name)
}

/** The position of a task; for an item, of the task that lists it. */
export function positionOf(crew: CrewDefinition, { name, of = name }: Pick<TaskDefinition, 'name' | 'of'>): number {
  return positionsIn(crew).get(of) ?? 0
}
