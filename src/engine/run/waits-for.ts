// The order of tasks, only from what the crew declares.
import type { CrewDefinition, TaskDefinition } from '../definition.ts'

const known = new WeakMap<CrewDefinition, Map<TaskDefinition, readonly string[]>>()

/**
 * The names of the tasks that must be done before this one starts. Computed once, since it is needed for every task
 * after every step.
 */
export function waitsFor(crew: CrewDefinition, task: TaskDefinition): readonly string[] {
  const ofCrew = known.get(crew) ?? new Map<TaskDefinition, readonly string[]>()
  known.set(crew, ofCrew)
  let names = ofCrew.get(task)
  if (!names) ofCrew.set(task, (names = findNames(crew, task)))
  return names
}

function findNames(crew: CrewDefinition, task: TaskDefinition): readonly string[] {
  if (crew.process === 'parallel') return [...task.context]
  const earlier = crew.tasks.slice(0, crew.tasks.indexOf(task)).filter((other) => !other.async)
  return [...new Set([...task.context, ...earlier.map((other) => other.name)])]
}
