// Finds the definitions of the tasks, items and steps that callers name.
import type { CrewDefinition, TaskDefinition } from '../../engine/definition.ts'
import { declaredTask } from '../../engine/run/for-each.ts'
import { RepriseError } from '../../base/errors.ts'
import { describe } from '../../base/options.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { Task } from '../task.ts'
import { findTask } from './result.ts'

/**
 * Finds the definition of a task of the crew, or of an item by its name, whether or not a run has that item. Throws
 * TASK_NOT_FOUND; the message names the tasks that exist. A flow has none.
 */
export function findDefinition(crew: CrewDefinition, task: Task | string): TaskDefinition {
  if (crew.flow) {
    const words = `flow ${crew.name} has no tasks: its steps are found while it runs, so ${describe(task)} can only be named with a run, as for replay`
    throw new RepriseError('TASK_NOT_FOUND', words)
  }
  const list = typeof task === 'string' ? declaredTask(crew, task) : undefined
  if (!list?.forEach || list.name === task) return findTask(crew.tasks, task, `crew ${crew.name}`)
  return { ...list.forEach.template, name: task as string, of: list.name }
}

/** Finds a crew by name: the crew itself, or one nested in it. */
export function nestedCrew(crew: CrewDefinition, name: string): CrewDefinition | undefined {
  if (crew.name === name) return crew
  for (const { child } of crew.tasks) {
    const found = child && nestedCrew(child.crew, name)
    if (found) return found
  }
  return undefined
}

/** Finds a task that is not an item. Throws OPTION_INVALID for an item. `what`: where it is given. */
export function findWholeTask(crew: CrewDefinition, task: Task | string, what: string): TaskDefinition {
  const found = findDefinition(crew, task)
  if (found.of === undefined) return found
  throw new RepriseError('OPTION_INVALID', `${what} is ${found.name}, an item; give a task, such as ${found.of}`)
}

/** Throws TASK_NOT_FOUND if the run has no such item. */
export function checkItem({ run, tasks }: RunState, { name, of }: Pick<TaskDefinition, 'name' | 'of'>): void {
  if (of === undefined) return
  const items = tasks.get(of)?.items ?? []
  if (items.includes(name)) return
  const has = items.length === 0 ? 'no item of it' : items.join(', ')
  throw new RepriseError('TASK_NOT_FOUND', `run ${run} has no item ${name}; of task ${of}, it has ${has}`, {
    runId: run,
  })
}
