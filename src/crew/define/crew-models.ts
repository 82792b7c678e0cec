// Which models a crew may ask: those of its agents and its manager, of agents that they hand work to, and of crews that
// are tasks.
import type { CrewDefinition, TaskDefinition } from '../../engine/definition.ts'
import { everyCoworker } from './define-agent.ts'

export interface CrewModel {
  readonly model: TaskDefinition['agent']['model']
  /** `research/facts` is the task facts of the crew that the task research is. */
  readonly task: string
}

export function crewModels({ tasks }: CrewDefinition): CrewModel[] {
  return tasks.flatMap((task) => {
    const { name, code, child } = task
    if (code) return []
    if (child) return crewModels(child.crew).map((inner) => ({ ...inner, task: `${name}/${inner.task}` }))
    return taskAgents(task).map(({ model }) => ({ model, task: name }))
  })
}

/** All that may work for a task. */
export function taskAgents({ agent, coworkers }: TaskDefinition): TaskDefinition['agent'][] {
  return [agent, ...everyCoworker(coworkers).map((coworker) => coworker.agent)]
}
