// A crew as its code declares it: tasks with their prompts, context and schemas, agents.
import type { TaskDefinition } from '../../engine/definition.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import type { CrewTask, CrewView } from '../api/contract.ts'
import type { KnownCrew } from '../place.ts'

export function crewView({ crew, definition }: KnownCrew): CrewView {
  const { name, version, process, budget } = definition
  return {
    name,
    version,
    process,
    inputs: crew.inputs,
    tasks: definition.tasks.map(taskOf),
    agents: crew.agents.map(({ role, goal, backstory, model }) => ({ role, goal, backstory, model: modelName(model) })),
    budget,
  }
}

function taskOf(task: TaskDefinition): CrewTask {
  const kind = task.child ? 'crew' : task.code ? 'function' : 'agent'
  return {
    name: task.name,
    kind,
    description: task.description,
    expectedOutput: task.expectedOutput,
    agent: kind === 'agent' ? task.agent.role : undefined,
    context: task.context,
    inputs: task.inputs,
    tools: task.tools.map(({ name, description, effect, asks, schema }) => ({
      name,
      description,
      effect,
      approval: asks,
      schema: schema.json,
    })),
    schema: task.schema?.json,
    guardrails: task.guardrails.map(({ name }) => name),
    humanInput: task.humanInput,
    async: task.async,
    conditional: task.when !== undefined,
    crew: task.child?.crew.name,
  }
}
