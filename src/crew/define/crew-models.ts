// Models that a crew may call: those of its agents and manager, of their coworkers, and of nested crews.
import type { CrewDefinition, TaskDefinition } from '../../engine/definition.ts'
import { everyCoworker } from './define-agent.ts'

export interface CrewModel {
  readonly model: TaskDefinition['agent']['model']
  /** `research/facts` is the task facts of the nested crew research. */
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

/** All agents that may work on a task. */
export function taskAgents({ agent, coworkers }: TaskDefinition): TaskDefinition['agent'][] {
  return [agent, ...everyCoworker(coworkers).map((coworker) => coworker.agent)]
}
