// A crew as its code declares it: tasks with their prompts, context and schemas, agents.
import type { Agent } from '../../crew/agent.ts'
import type { Crew } from '../../crew/crew.ts'
import { taskAgents } from '../../crew/define/crew-models.ts'
import type { CrewDefinition, TaskDefinition } from '../../engine/definition.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import type { CrewAgent, CrewTask, CrewView } from '../api/contract.ts'
import type { ShownCrew } from '../context.ts'

export function crewView({ crew, definition, within }: ShownCrew): CrewView {
  const { name, version, process, budget, inputs } = definition
  return {
    name,
    version,
    process,
    inputs: crew.inputs,
    inputSchema: inputs?.json,
    tasks: definition.tasks.map(toCrewTask),
    agents: crewAgents(crew, definition),
    budget,
    within,
  }
}

/** With the models that runs use: `crew.with` puts others in place of those that agents declare. */
function crewAgents(crew: Crew, { tasks }: CrewDefinition): CrewAgent[] {
  const used = new Map(
    tasks
      .filter(({ code, child }) => !code && !child)
      .flatMap(taskAgents)
      .map((agent) => [agent.identity, agent.model]),
  )
  const agents = new Set([...crew.agents, ...([...used.keys()] as Agent[])])
  return [...agents].map((agent) => {
    const { role, goal, backstory, model } = agent
    return { role, goal, backstory, model: modelName(used.has(agent) ? used.get(agent) : model) }
  })
}

function toCrewTask(task: TaskDefinition): CrewTask {
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
