// The order of tasks, only from what the crew declares.
import type { CrewDefinition, TaskDefinition } from '../definition.ts'

/** The tasks that must be done before this one starts, in the crew's order. Its condition sees exactly these. */
export function waitsFor(crew: CrewDefinition, task: TaskDefinition): readonly TaskDefinition[] {
  if (crew.process === 'parallel') return tasksNamed(crew, task.context)
  const given = new Set(task.context)
  const position = positionsIn(crew).get(task.name) ?? 0
  return crew.tasks.slice(0, position).filter(({ name, async }) => !async || given.has(name))
}

/** In the crew's order. */
export function tasksNamed(crew: CrewDefinition, names: readonly string[]): readonly TaskDefinition[] {
  const positions = positionsIn(crew)
  const found = [...new Set(names)].flatMap((name) => positions.get(name) ?? [])
  return found.toSorted((a, b) => a - b).map((position) => crew.tasks[position] as TaskDefinition)
}

const known = new WeakMap<CrewDefinition, ReadonlyMap<string, number>>()

/** By name; cached per crew. */
export function positionsIn(crew: CrewDefinition): ReadonlyMap<string, number> {
  const there = known.get(crew)
  if (there) return there
  const positions = new Map(crew.tasks.map(({ name }, position) => [name, position]))
  known.set(crew, positions)
  return positions
}
