// The order of tasks, from what the crew declares alone.
import type { CrewDefinition, TaskDefinition } from './definition.ts'

/** The names of the tasks that must be done before this one starts. */
export function waitsFor(crew: CrewDefinition, task: TaskDefinition): string[] {
  if (crew.process === 'parallel') return [...task.context]
  const earlier = crew.tasks.slice(0, crew.tasks.indexOf(task)).filter((other) => !other.async)
  return [...new Set([...task.context, ...earlier.map((other) => other.name)])]
}
