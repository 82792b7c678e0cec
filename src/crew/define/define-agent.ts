// Builds the engine's definition of an agent and its coworkers.
import type { CoworkerDefinition, Inputs, TaskDefinition, CrewDefinition } from '../../engine/definition.ts'
import { delegationTools } from '../../engine/task/delegation-tools.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Json } from '../../journal/json.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import { formatDate } from '../../text/date-format.ts'
import { storableProvider } from '../../tools/provider-tool.ts'
import type { Tool } from '../../tools/tool.ts'
import { Agent } from '../agent.ts'
import type { Overrides } from './define-tasks.ts'
import { defineGuardrail, guardrailIdentity } from '../guardrails.ts'
import { interpolate } from './placeholders.ts'
import { dateWords, instructionsFor } from './task-prompts.ts'
import { describe } from '../../base/options.ts'
import { isAgent } from '../options/crew-checks.ts'
import type { CrewOptions } from '../options/crew-options.ts'

/** Maximum length of a chain of delegations. */
const maxDelegationDepth = 3

interface DelegationOptions {
  readonly task: string
  /** All agents of the crew. */
  readonly agents: readonly Agent[]
  /** Tools that replace a coworker's own. */
  readonly toolsOverride: readonly Tool[] | undefined
  readonly overrides: Overrides
}

/** An agent may delegate further, but not back to anyone in its chain of delegators (`above`). */
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
      // lazy: ten agents that may all delegate form hundreds of chains
      get coworkers() {
        return defineCoworkers(theirs, chain, delegation)
      },
      instructions: (inputs) => agentInstructions(agent, inputs),
    }
  })
}

/** CREW_INVALID if a delegating agent has a tool with the name of a delegation tool. */
export function checkDelegates(task: string, { role }: Agent, tools: readonly Tool[]): void {
  const rival = tools.find(({ name }) => delegationTools.includes(name))
  if (!rival) return
  const words = `task ${task}: agent ${role} has a tool ${rival.name}, which is the name of a delegation tool; rename yours, or remove allowDelegation`
  throw new RepriseError('CREW_INVALID', words)
}

/** Coworkers of all levels, each agent once, at its shortest chain of delegators. */
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

/** Identity of a coworker for fingerprints. */
export function coworkerIdentity({ agent, tools, coworkers }: CoworkerDefinition): Json {
  const declared = agent.identity as Agent
  const guardrails = declared.guardrails.map(guardrailIdentity)
  return {
    ...agentTexts(declared),
    model: modelName(agent.model),
    settings: agent.settings,
    // prompts list them by name
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
      // the task isn't executed, and its inputs may be missing
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

/** CREW_INVALID if a hierarchical crew has no valid manager, or another crew has a manager. */
export function resolveManager({ process, manager }: CrewOptions, agents: readonly Agent[]): Agent | undefined {
  if (process !== 'hierarchical') {
    if (manager === undefined) return undefined
    throw new RepriseError(
      'CREW_INVALID',
      `the crew has a manager, but its process is ${describe(process ?? 'sequential')}; make it 'hierarchical'`,
    )
  }
  if (manager === undefined)
    throw new RepriseError('CREW_INVALID', 'a hierarchical crew needs a manager; give an agent, or a model')
  if (agents.length === 0)
    throw new RepriseError('CREW_INVALID', 'a hierarchical crew needs agents to which its manager can delegate')
  if (!isAgent(manager)) {
    return new Agent({
      role: 'Crew manager',
      goal: 'Get each task done by handing work to the right coworkers, and put what they report together into the result',
      model: manager,
    })
  }
  if (agents.includes(manager))
    throw new RepriseError('CREW_INVALID', `the manager ${manager.role} is one of the agents; remove it from them`)
  if (manager.tools.length > 0) {
    const names = manager.tools.map((tool) => tool.name).join(', ')
    throw new RepriseError('CREW_INVALID', `the manager ${manager.role} has tools (${names}); give them to the agents`)
  }
  return manager
}

interface CrewModel {
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
