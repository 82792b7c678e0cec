// describe: a crew as plain data, for tools that show or check crews, such as the studio.
import type { CrewDefinition, TaskDefinition } from '../../engine/definition.ts'
import type { Limit } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import type { Effect } from '../../tools/tool.ts'
import type { Agent } from '../agent.ts'
import { codeMayUse, inputNames } from '../arguments/run-inputs.ts'
import { crewModels, taskAgents } from './define-agent.ts'

export interface CrewDescription {
  readonly name: string
  readonly version: string
  /** Other versions whose runs workers with this code execute too. */
  readonly accepts: readonly string[]
  readonly process: 'sequential' | 'parallel' | 'hierarchical'
  /** Whether it is a flow. Its steps are found while it runs, so it has no tasks. */
  readonly flow: boolean
  /** Names of the inputs that the crew uses. */
  readonly inputs: readonly string[]
  /** Whether runs take other inputs, too, because a schema or code may use any. */
  readonly anyInput: boolean
  /** JSON Schema of the inputs, if the crew declares one. */
  readonly inputSchema: Json | undefined
  readonly tasks: readonly TaskDescription[]
  readonly agents: readonly AgentDescription[]
  readonly budget: Limit | undefined
  /** How many runs of the crew workers may execute at once. */
  readonly maxRuns: number | undefined
}

export interface TaskDescription {
  readonly name: string
  readonly type: 'agent' | 'function' | 'crew'
  /** As declared, with placeholders. */
  readonly description: string
  readonly expectedOutput: string | undefined
  readonly agent: string | undefined
  /** Names of the models that it may call, those of a nested crew included. */
  readonly models: readonly string[]
  /** The tasks whose outputs it receives. */
  readonly context: readonly string[]
  readonly inputs: readonly string[]
  readonly tools: readonly {
    readonly name: string
    readonly description: string
    readonly effect: Effect
    readonly approval: 'always' | 'sometimes' | undefined
    readonly schema: Json
  }[]
  /** JSON Schema of its output. */
  readonly schema: Json | undefined
  readonly guardrails: readonly string[]
  readonly humanInput: boolean
  readonly async: boolean
  /** Whether the task has a condition and may be skipped. */
  readonly conditional: boolean
  /** The nested crew, with the models that this crew's runs use. */
  readonly crew: CrewDescription | undefined
}

export interface AgentDescription {
  readonly role: string
  readonly goal: string
  readonly backstory: string | undefined
  /** Name of the model that runs use: `crew.with` may have replaced the agent's own. */
  readonly model: string
}

export function describeCrew(crew: CrewDefinition, agents: readonly Agent[] = []): CrewDescription {
  const { name, version, accepts = [], process, budget, maxRuns } = crew
  return {
    name,
    version,
    accepts,
    process,
    flow: crew.flow !== undefined,
    inputs: inputNames(crew).all,
    anyInput: crew.inputs !== undefined || codeMayUse(crew),
    inputSchema: crew.inputs?.json,
    tasks: crew.tasks.map(describeTask),
    agents: describeAgents(crew, agents),
    budget,
    maxRuns,
  }
}

function describeTask(task: TaskDefinition): TaskDescription {
  const { name, description, expectedOutput, context, inputs, humanInput, async } = task
  const type = task.child ? 'crew' : task.code ? 'function' : 'agent'
  return {
    name,
    type,
    description,
    expectedOutput,
    agent: type === 'agent' ? task.agent.role : undefined,
    models: [...new Set(crewModels({ tasks: [task] }).map(({ model }) => modelName(model)))],
    context,
    inputs,
    tools: task.tools.map(({ name: tool, description: does, effect, asks, schema }) => ({
      name: tool,
      description: does,
      effect,
      approval: asks,
      schema: schema.json,
    })),
    schema: task.schema?.json,
    guardrails: task.guardrails.map((guardrail) => guardrail.name),
    humanInput,
    async,
    conditional: task.when !== undefined,
    crew: task.child && describeCrew(task.child.crew),
  }
}

/** `declared`: includes agents that no task uses. */
function describeAgents({ tasks }: CrewDefinition, declared: readonly Agent[]): AgentDescription[] {
  const used = new Map(
    tasks
      .filter(({ code, child }) => !code && !child)
      .flatMap(taskAgents)
      .map((agent) => [agent.identity, agent.model]),
  )
  const agents = new Set([...declared, ...([...used.keys()] as Agent[])])
  return [...agents].map((agent) => {
    const { role, goal, backstory, model } = agent
    return { role, goal, backstory, model: modelName(used.has(agent) ? used.get(agent) : model) }
  })
}
