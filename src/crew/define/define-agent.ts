// From an agent, as users write it, to what the engine executes: itself, and those whom it may hand work to.
import type { CoworkerDefinition, Inputs, TaskDefinition } from '../../engine/definition.ts'
import { delegationTools } from '../../engine/task/delegation-tools.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Json } from '../../journal/json.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import { formatDate } from '../../text/date-format.ts'
import { storableProvider } from '../../tools/provider-tool.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Agent } from '../agent.ts'
import type { Overrides } from './define-tasks.ts'
import { defineGuardrail, guardrailIdentity } from '../guardrails.ts'
import { interpolate } from './placeholders.ts'
import { dateWords, instructionsFor } from './task-prompts.ts'

/** How often work is handed on: what a coworker's coworker's coworker is given stays there. */
const maxDelegationDepth = 3

export interface DelegationOptions {
  readonly task: string
  /** All of the crew. */
  readonly agents: readonly Agent[]
  /** Instead of a coworker's own tools. */
  readonly toolsOverride: readonly Tool[] | undefined
  readonly overrides: Overrides
}

/** Whoever may delegate hands on what it is given, to nobody who stands above it. */
export function defineCoworkers(
  coworkers: readonly Agent[],
  above: readonly Agent[],
  delegation: DelegationOptions,
): CoworkerDefinition[] {
  const { task, agents, toolsOverride: lent, overrides } = delegation
  return coworkers.map((agent) => {
    const chain = [...above, agent]
    const theirs =
      agent.allowDelegation && above.length < maxDelegationDepth ? agents.filter((other) => !chain.includes(other)) : []
    const tools = replacedTools(lent ?? agent.tools, overrides)
    if (theirs.length > 0) checkDelegates(task, agent, tools)
    return {
      agent: defineAgent(agent, overrides),
      goal: (inputs) => agentText(agent, 'goal', inputs),
      tools,
      guardrails: agent.guardrails.map((guardrail, index) => defineGuardrail(guardrail, index, task, undefined)),
      // made when they are asked for: ten agents that may all delegate stand in hundreds of chains
      get coworkers() {
        return defineCoworkers(theirs, chain, delegation)
      },
      instructions: (inputs) => agentInstructions(agent, inputs),
    }
  })
}

/** CREW_INVALID when an agent that hands work on has a tool of the name of those by which it does. */
export function checkDelegates(task: string, { role }: Agent, tools: readonly Tool[]): void {
  const rival = tools.find(({ name }) => delegationTools.includes(name))
  if (!rival) return
  const words = `task ${task}: agent ${role} hands work on by a tool ${rival.name} of Reprise, and has its own tool ${rival.name}; rename yours, or take allowDelegation away`
  throw new RepriseError('CREW_INVALID', words)
}

/** These, theirs, and so on: each agent once, where the fewest stand above it. */
export function everyCoworker(coworkers: readonly CoworkerDefinition[]): CoworkerDefinition[] {
  const found = new Map<object, CoworkerDefinition>()
  let level = coworkers
  while (level.length > 0) {
    const fresh = level.filter(({ agent }) => !found.has(agent.identity))
    for (const coworker of fresh) found.set(coworker.agent.identity, coworker)
    level = fresh.flatMap((coworker) => coworker.coworkers)
  }
  return [...found.values()]
}

/** What a result depends on of a coworker. */
export function coworkerIdentity({ agent, tools, coworkers }: CoworkerDefinition): Json {
  const declared = agent.identity as Agent
  const guardrails = declared.guardrails.map(guardrailIdentity)
  return {
    ...agentTexts(declared),
    model: modelName(agent.model),
    settings: agent.settings,
    // a model is shown them in the order of their names
    tools: tools.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(toolIdentity),
    ...(declared.injectDate ? { date: declared.dateFormat } : {}),
    ...(guardrails.length > 0 ? { guardrails } : {}),
    ...(coworkers.length > 0 ? { delegates: true } : {}),
  }
}

export function defineAgent(agent: Agent, overrides: Overrides): TaskDefinition['agent'] {
  const { role, settings, maxIterations, maxRetries, maxSeconds, contextTokens, maxRpm } = agent
  const model = overrides.model ?? agent.model
  const title = (inputs: Inputs): string => {
    try {
      return agentText(agent, 'role', inputs)
    } catch {
      // of a task that is not executed, whose inputs nobody needs
      return role
    }
  }
  return {
    role,
    title,
    model,
    settings,
    maxIterations,
    maxRetries,
    maxSeconds,
    contextTokens,
    maxRpm,
    dateWords: agent.injectDate ? (now) => dateWords(formatDate(agent.dateFormat, now)) : undefined,
    identity: agent,
  }
}

export function replacedTools(tools: readonly Tool[], overrides: Overrides): Tool[] {
  return tools.map((tool) => overrides.tools?.get(tool.name) ?? tool)
}

export function toolIdentity(tool: Tool): Json {
  const { name, description, effect, schema, version, asks, cache = false, provider, options } = tool
  const known = { name, description, effect, schema: schema.json, version: version ?? null, asks: asks ?? null, cache }
  return {
    ...known,
    ...(provider && { provider: { ...storableProvider(name, provider) } }),
    ...(options && { options: { ...options } }),
  }
}

export function agentTexts({ role, goal, backstory }: Agent): { [name: string]: string } {
  return { role, goal, ...(backstory ? { backstory } : {}) }
}

export function agentInstructions(agent: Agent, inputs: Inputs): string {
  const text = (name: AgentText): string => agentText(agent, name, inputs)
  return instructionsFor({ role: text('role'), goal: text('goal'), backstory: text('backstory') })
}

type AgentText = 'role' | 'goal' | 'backstory'

function agentText(agent: Agent, name: AgentText, inputs: Inputs): string {
  return interpolate(agent[name] ?? '', inputs, `the ${name} of agent ${agent.role}`)
}
