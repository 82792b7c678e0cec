// Builds the engine's definitions of agents and their coworkers. Also contains the prompt texts of agents and tasks,
// and the placeholders in texts: how they are filled in, and their names as types.
import type {
  CoworkerDefinition,
  Inputs,
  TaskDefinition,
  CrewDefinition,
  RenderedTask,
} from '../../engine/definition.ts'
import { delegationTools } from '../../engine/task/delegate.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Json } from '../../journal/json.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import { formatDate } from '../../text/date-format.ts'
import { storableProvider } from '../../tools/provider-tool.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Overrides } from './define-tasks.ts'
import { defineGuardrail, guardrailIdentity } from '../guardrails.ts'
import { describe, nearest, ownMember, readOptions } from '../../base/options.ts'
import { agentTable, type AgentSettings } from '../options/agent-options.ts'
import { isAgent } from '../options/crew-checks.ts'
import type { CrewOptions } from '../options/crew-options.ts'
import { inputAsText } from '../../journal/files.ts'
import { fillIn, type ItemText } from '../../text/fill-in.ts'

/** Maximum length of a chain of delegations. */
const maxDelegationDepth = 3

interface DelegationOptions {
  readonly task: string
  /** All agents of the crew. */
  readonly agents: readonly AgentSettings[]
  /** Tools that coworkers have instead of their own. */
  readonly toolsOverride: readonly Tool[] | undefined
  readonly overrides: Overrides
}

/**
 * Defines coworkers. `above` is the chain of delegators: a coworker may delegate further, but not to an agent in the
 * chain.
 */
export function defineCoworkers(
  coworkers: readonly AgentSettings[],
  above: readonly AgentSettings[],
  delegation: DelegationOptions,
): CoworkerDefinition[] {
  const { task, agents, toolsOverride, overrides } = delegation
  return coworkers.map((agent) => {
    const chain = [...above, agent]
    const furtherCoworkers =
      agent.allowDelegation && above.length < maxDelegationDepth ? agents.filter((other) => !chain.includes(other)) : []
    const tools = replacedTools(toolsOverride ?? agent.tools, overrides)
    if (furtherCoworkers.length > 0) checkDelegates(task, agent, tools)
    return {
      agent: defineAgent(agent, overrides),
      goal: (inputs) => agentText(agent, 'goal', inputs),
      tools,
      guardrails: agent.guardrails.map((guardrail, index) => defineGuardrail(guardrail, index, task, undefined)),
      // lazy: ten agents that may delegate to each other form hundreds of chains
      get coworkers() {
        return defineCoworkers(furtherCoworkers, chain, delegation)
      },
      instructions: (inputs) => agentInstructions(agent, inputs),
    }
  })
}

/** Throws CREW_INVALID if a delegating agent has a tool with the name of a delegation tool. */
export function checkDelegates(task: string, { role }: AgentSettings, tools: readonly Tool[]): void {
  const conflict = tools.find(({ name }) => delegationTools.includes(name))
  if (!conflict) return
  const words = `task ${task}: agent ${role} has a tool ${conflict.name}, which is the name of a delegation tool; rename yours, or remove allowDelegation`
  throw new RepriseError('CREW_INVALID', words)
}

/** Returns the coworkers of all levels: each agent once, with its shortest chain of delegators. */
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

/** Identifies a coworker in fingerprints. */
export function coworkerIdentity({ agent, tools, coworkers }: CoworkerDefinition): Json {
  const declared = agent.identity as AgentSettings
  const guardrails = declared.guardrails.map(guardrailIdentity)
  return {
    ...agentTexts(declared),
    model: modelName(agent.model),
    settings: agent.settings,
    // prompts list tools by name
    tools: tools.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(toolIdentity),
    ...(declared.injectDate ? { date: declared.dateFormat } : {}),
    ...(guardrails.length > 0 ? { guardrails } : {}),
    ...(coworkers.length > 0 ? { delegates: true } : {}),
  }
}

export function defineAgent(agent: AgentSettings, overrides: Overrides): TaskDefinition['agent'] {
  const { role, settings, maxIterations, maxRetries, maxSeconds, contextTokens, maxRpm } = agent
  const model = overrides.model ?? agent.model
  const title = (inputs: Inputs): string => {
    try {
      return agentText(agent, 'role', inputs)
    } catch {
      // also called for a task that is not executed: its inputs may be missing
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

export function agentTexts({ role, goal, backstory }: AgentSettings): { [name: string]: string } {
  return { role, goal, ...(backstory ? { backstory } : {}) }
}

export function agentInstructions(agent: AgentSettings, inputs: Inputs): string {
  const text = (name: AgentText): string => agentText(agent, name, inputs)
  return instructionsFor({ role: text('role'), goal: text('goal'), backstory: text('backstory') })
}

/** The instructions of an agent that talks with a person. */
export function talkInstructions({ role, goal, backstory }: AgentSettings): string {
  const about = backstory ? `\n\n${backstory}` : ''
  return (
    `You are ${role}.${about}\n\nYour goal: ${goal}\n\n` +
    `You are in a conversation with a person. Answer their last message. Use the tools you have where they help, and do not make up what ` +
    `they could tell you. Your last message is what the person reads.`
  )
}

type AgentText = 'role' | 'goal' | 'backstory'

function agentText(agent: AgentSettings, name: AgentText, inputs: Inputs): string {
  return interpolate(agent[name] ?? '', inputs, `the ${name} of agent ${agent.role}`)
}

/**
 * Returns the manager of a hierarchical crew. Throws CREW_INVALID if it has no valid manager, or if the crew has one
 * without being hierarchical.
 */
export function resolveManager(
  { process, manager }: CrewOptions,
  agents: readonly AgentSettings[],
): AgentSettings | undefined {
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
    return readOptions(agentTable, {
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
  /** Task name: `research/facts` is task facts of the nested crew research. */
  readonly task: string
}

/** Returns the models of all agents that may work on the tasks of a crew. */
export function crewModels({ tasks }: Pick<CrewDefinition, 'tasks'>): CrewModel[] {
  return tasks.flatMap((task) => {
    const { name, code, child } = task
    if (code) return []
    if (child) return crewModels(child.crew).map((inner) => ({ ...inner, task: `${name}/${inner.task}` }))
    return taskAgents(task).map(({ model }) => ({ model, task: name }))
  })
}

/** Returns all agents that may work on a task. */
export function taskAgents({ agent, coworkers }: TaskDefinition): TaskDefinition['agent'][] {
  return [agent, ...everyCoworker(coworkers).map((coworker) => coworker.agent)]
}

// The prompt texts of agents and tasks, around those of users. Changing one changes what is sent to models, but no
// fingerprint: those cover what users declare.

interface AgentTexts {
  readonly role: string
  readonly goal: string
  readonly backstory?: string | undefined
}

function instructionsFor({ role, goal, backstory }: AgentTexts): string {
  const about = backstory ? `\n\n${backstory}` : ''
  return (
    `You are ${role}.${about}\n\nYour goal: ${goal}\n\n` +
    `Work on the task you are given until it is done. Use the tools you have where they help, and do not make up what they could tell you. ` +
    `Your last message is the result of the task and is used as it stands: give the result itself, without remarks about it.`
  )
}

export function dateWords(date: string): string {
  return `Today's date: ${date}`
}

interface TaskTexts {
  readonly description: string
  readonly expectedOutput?: string | undefined
  /** Context tasks whose outputs the message contains. */
  readonly context: readonly string[]
  /** Context tasks without an output, because they failed. */
  readonly missing?: readonly string[]
  readonly structured: boolean
  readonly markdown?: boolean
}

/** Returns the message in parts. `{ output }` stands for the output of that task. */
export function messageFor({
  description,
  expectedOutput,
  context,
  missing = [],
  structured,
  markdown,
}: TaskTexts): RenderedTask['message'] {
  const parts = [`Task: ${description}`]
  if (expectedOutput) parts.push(`Expected result: ${expectedOutput}`)
  if (structured) parts.push('Answer with JSON that fits the schema you are given, and nothing else.')
  if (markdown) parts.push(structured ? 'Write the texts inside it as Markdown.' : asMarkdown)
  if (missing.length > 0) parts.push(missingContextText(missing))
  if (context.length > 0) parts.push('What earlier tasks found:')
  return [parts.join('\n\n'), ...context.flatMap((task) => [`\n\n--- ${task} ---\n`, { output: task }])]
}

function missingContextText(missing: readonly string[]): string {
  return `Some earlier tasks failed, so there is no result of: ${missing.join(', ')}. Work with the results that there are, and do not make up the missing ones.`
}

const asMarkdown = 'Write the result as Markdown, and do not put it into a code block.'

// Placeholders in texts: filled in when a task is executed, and as types. The parser for values (`fill-in.ts`) and the
// one for types must agree.

/**
 * Fills in inputs, and the item if there is `itemText`. Lists and objects become JSON; a file becomes `[file
 * claim.pdf]`. Throws INPUT_MISSING if an input is missing.
 */
export function interpolate(
  text: string,
  inputs: { readonly [name: string]: Json },
  where: string,
  itemText?: ItemText,
): string {
  const valueOf = (name: string): string => {
    const value = ownMember(inputs, name)
    if (value === undefined) throw inputMissing(name, where, Object.keys(inputs))
    return inputAsText(value)
  }
  return fillIn(text, valueOf, itemText)
}

function inputMissing(name: string, where: string, given: readonly string[]): RepriseError {
  const similar = nearest(name, given)
  const hint = similar === undefined ? '' : `, only ${similar}`
  return new RepriseError(
    'INPUT_MISSING',
    `${where} uses {${name}}, but there is no input ${name}${hint} (a literal brace is written {{${name}}})`,
    { next: { type: 'give', inputs: [name] } },
  )
}

/** Stands for the placeholder names in a text that is not known at compile time. */
export type Unknowable = '{unknown at compile time}'

/**
 * Placeholder names in a text. A template literal type such as `Facts of ${notes}` has its visible names, and
 * `Unknowable`.
 */
export type Placeholders<T extends string> = T extends string
  ? ParsePlaceholders<T> | (HasHoles<T> extends true ? Unknowable : never)
  : never

/**
 * Whether a text has parts that are unknown at compile time. A record keyed by `string` or `a ${string}` has an index
 * signature, and thus no required member; a record keyed by a literal has one.
 */
type HasHoles<T extends string> = {} extends { [K in T]: 1 } ? true : false

type ParsePlaceholders<T extends string> = T extends `${string}{${infer Rest}`
  ? Rest extends `{${infer After}`
    ? ParsePlaceholders<After>
    : Rest extends `${infer Name}}${infer After}`
      ? IsIdentifier<Name> extends true
        ? Name | ParsePlaceholders<After>
        : ParsePlaceholders<Rest>
      : never
  : never

type Characters<T extends string> = T extends `${infer First}${infer Rest}` ? First | Characters<Rest> : never
type Letter = Characters<'abcdefghijklmnopqrstuvwxyz_'>
type Digit = Characters<'0123456789'>

type IsIdentifier<T extends string> =
  Lowercase<T> extends `${infer First}${infer Rest}` ? (First extends Letter ? IsWord<Rest> : false) : false
type IsWord<T extends string> = T extends ''
  ? true
  : T extends `${infer First}${infer Rest}`
    ? First extends Letter | Digit
      ? IsWord<Rest>
      : false
    : false
