// Names in a file that refer to a model, a tool, an agent or an earlier task. An error about an unknown name lists the
// known ones.
import { check, type Check, describe, guess, isRecord, ownMember } from '../../base/options.ts'
import { knownProviders, readModelName } from '../../models/resolve/model-names.ts'
import { type LanguageModel, settingNames } from '../../models/resolve/resolve-model.ts'
import { toolList, type Tool } from '../../tools/tool.ts'
import type { Agent } from '../agent.ts'
import type { Task } from '../task.ts'
import { names, shown, text, scalarText, type FieldValue, isOff, mapping } from './yaml-values.ts'
import { isMap, Scalar } from 'yaml'
import type { Json } from '../../journal/json.ts'

/** The objects to which names in a file can refer. */
export interface NameScope {
  readonly models: Models
  readonly tools: ReadonlyMap<string, Tool>
  /** Agents by name. Undefined for an invalid agent. */
  readonly agents: ReadonlyMap<string, Agent | undefined>
  /** Where the agents come from, for messages. */
  readonly agentsFrom: string
  /** Tasks before the current one, by name. Undefined for an invalid task. */
  readonly earlier: ReadonlyMap<string, Task | undefined>
  readonly taskNames: readonly string[]
  /** Names of tasks of the file that are not in `order`. */
  readonly leftOut: readonly string[]
  /** Name of the current agent or task. */
  readonly self: string
}

export type Models = { readonly [name: string]: LanguageModel | string }

/** Resolves the name of a model: a key of `models`, or `provider/model`, also as CrewAI writes it. */
function model(field: FieldValue, { models }: Pick<NameScope, 'models'>): LanguageModel | string | undefined {
  if (scalarText(field.value) === undefined) {
    throw field.refuse(
      `is ${shown(field.value)}; write provider/model, and put temperature, maxOutputTokens and the like below settings`,
    )
  }
  const written = text(field)
  if (written === undefined) return undefined
  if (Object.hasOwn(models, written)) return models[written]
  const named = readModelName(written)
  if (named !== undefined) return named.name
  throw field.refuse(
    `${describe(written)} has no known provider; write provider/model, where provider is ` +
      `${knownProviders(written)}, or give a model with this name in the code: models: { ${JSON.stringify(written)}: … }${guess(written, Object.keys(models))}`,
  )
}

/**
 * Resolves names of tools. As in CrewAI, an empty list means that the task has the tools of its agent. In
 * `custom:look_up` and `crewai_tools:SerperDevTool`, the last part may be the name.
 */
export function tools(field: FieldValue, scope: NameScope): readonly Tool[] | undefined {
  const found = names(field).map(({ name, at }) => {
    const short = name.slice(name.lastIndexOf(':') + 1)
    return { name, at, short, tool: scope.tools.get(name) ?? scope.tools.get(short) }
  })
  const missing = found.filter(({ tool }) => tool === undefined)
  const [first] = missing
  if (first) {
    const given = [...scope.tools.keys()]
    const words = missing.map(({ name }) => describe(name)).join(', ')
    const code = `tools: { ${missing.map(({ short }) => `${JSON.stringify(short)}: …`).join(', ')} }`
    const one = missing.length === 1
    throw field.refuse(
      given.length === 0
        ? `${words} ${one ? 'is' : 'are'} unknown, since no tools are given; give ${one ? 'it' : 'them'} in the code: ${code}`
        : `${words} ${one ? 'is' : 'are'} not among the tools given (${given.join(', ')})${guess(first.short, given) || `; give ${code}`}`,
      first.at,
    )
  }
  const list = found.flatMap(({ tool }) => tool ?? [])
  return list.length === 0 ? undefined : list
}

export function agent(field: FieldValue, scope: NameScope): Agent | undefined {
  const name = text(field)
  return name === undefined ? undefined : agentNamed(name, scope, (problem) => field.refuse(problem))
}

/**
 * Resolves names of context tasks. An empty list means no tasks; without the field, the context is all earlier tasks.
 */
export function context(field: FieldValue, scope: NameScope): readonly Task[] {
  return names(field).flatMap(({ name, at }) => taskNamed(name, scope, (problem) => field.refuse(problem, at)) ?? [])
}

type Refuse = (problem: string) => Error

/** Returns the agent with a name. Undefined for an invalid agent, whose problem is already reported. */
export function agentNamed(name: string, { agents, agentsFrom, self }: NameScope, refuse: Refuse): Agent | undefined {
  if (agents.has(name)) return agents.get(name)
  const existing = [...agents.keys()]
  const remedy = `write one of these, or give another in the code: taskOptions: { ${self}: { agent: '${existing[0]}' } }`
  const advice =
    guess(name, existing) ||
    (existing.length === 0 ? '; there are none' : `; there are ${existing.join(', ')}; ${remedy}`)
  throw refuse(`${describe(name)} is not in ${agentsFrom}${advice}`)
}

/** Returns the earlier task with a name. Undefined for an invalid task, whose problem is already reported. */
export function taskNamed(
  name: string,
  { earlier, taskNames, leftOut, self }: NameScope,
  refuse: Refuse,
): Task | undefined {
  if (earlier.has(name)) return earlier.get(name)
  if (name === self) throw refuse(`has the task itself; a task sees only earlier tasks`)
  if (taskNames.includes(name)) {
    const words = `has ${name}, which comes later; a task sees only earlier tasks`
    throw refuse(`${words}, so move ${name} up, or set the order in the code: order: ['${name}', '${self}', …]`)
  }
  if (leftOut.includes(name)) {
    throw refuse(`has ${name}, which is not in order; add it there, or give another context in the code`)
  }
  const existing = [...earlier.keys()]
  const advice = guess(name, taskNames) || `; before it there are ${existing.join(', ') || 'none'}`
  throw refuse(`${describe(name)} is not a task of this file${advice}`)
}

/** Returns tools by their names, and by the keys of a record. */
export function toolsByName(given: unknown): ReadonlyMap<string, Tool> {
  const list = given === undefined ? [] : toolList('tools', given)
  const keys = isRecord(given) ? Object.keys(given) : []
  return new Map([
    ...list.map((tool): [string, Tool] => [tool.name, tool]),
    ...keys.flatMap((key, index): [string, Tool][] => (list[index] ? [[key, list[index]]] : [])),
  ])
}

export const modelsCheck: Check<Models> = check('an object: models: { name: model }', isRecord)

interface ModelField {
  readonly model: LanguageModel | string | undefined
  readonly settings?: { readonly [name: string]: Json }
}

/** Model settings by the names that they have in CrewAI. */
const settingByCrewaiName: { readonly [crewai: string]: string } = {
  temperature: 'temperature',
  max_tokens: 'maxOutputTokens',
  max_completion_tokens: 'maxOutputTokens',
  top_p: 'topP',
  presence_penalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
  stop: 'stopSequences',
  seed: 'seed',
  reasoning_effort: 'reasoning',
  timeout: 'timeoutSeconds',
}

/**
 * Reads a model: its name, or a mapping with `model`, optionally `provider`, and settings. A model that needs an
 * address or a key must be given in code: its name is looked up in `models`.
 */
export function readModel(field: FieldValue, scope: Pick<NameScope, 'models'>): ModelField {
  const { document, value } = field
  if (!isMap(value)) return { model: model(field, scope) }
  const entries = document.entries(value)
  const fieldText = (name: string): string | undefined => {
    const found = entries.find((entry) => entry.name === name)?.value
    return found && text({ ...field, value: found })
  }
  const written = fieldText('model') ?? fieldText('deployment_name')
  if (written === undefined) {
    throw field.refuse(`has no model; write provider/model, or give it in the code: ${field.inCode('model: …')}`)
  }
  const provider = fieldText('provider')
  const name = provider === undefined || written.startsWith(`${provider}/`) ? written : `${provider}/${written}`
  const fromCode = ownMember(scope.models, name)
  const modelSettings: { [name: string]: Json } = {}
  for (const { name: inner, key, value: given } of entries) {
    if (identity.includes(inner) || given === undefined) continue
    const setting = ownMember(settingByCrewaiName, inner)
    if (setting !== undefined) {
      const plain = plainValue(field, inner)
      modelSettings[setting] = setting === 'stopSequences' && typeof plain === 'string' ? [plain] : plain
    } else if (fromCode === undefined && !isOff(given) && !isUsualAddress(name, inner, scalarText(given))) {
      const words = `has ${inner}, which needs code; give the model there`
      throw field.refuse(`${words}: models: { ${JSON.stringify(name)}: … }`, key)
    }
  }
  return { model: fromCode ?? model({ ...field, value: new Scalar(name) }, scope), settings: modelSettings }
}

const identity = ['model', 'deployment_name', 'provider']

/** Whether this is the default address of Ollama, which needs no code. */
function isUsualAddress(name: string, field: string, value = ''): boolean {
  if (!name.startsWith('ollama') || !['base_url', 'api_base'].includes(field)) return false
  return /^http:\/\/(localhost|127\.0\.0\.1):11434\/?(v1\/?)?$/.test(value)
}

function plainValue(field: FieldValue, name: string): Json {
  return mapping(field, (inner) => inner === name)[name] ?? null
}

/** Reads model settings. `isField` excludes fields of the agent. */
export function settings(
  field: FieldValue,
  isField: (name: string) => boolean,
): { readonly [name: string]: Json } | undefined {
  const found = mapping(field, (name) => !isField(name), settingNames)
  return Object.keys(found).length === 0 ? undefined : found
}
