// Names in a file that stand for something else: a model, a tool, an agent, an earlier task. One that stands for
// nothing is refused with what there is.
import { check, type Check } from '../../base/checks.ts'
import { knownProviders, readModelName } from '../../models/resolve/model-names.ts'
import type { LanguageModel } from '../../models/resolve/resolve-model.ts'
import { describe, guess, isRecord } from '../../base/options.ts'
import { toolList, type Tool } from '../../tools/tool.ts'
import type { Agent } from '../agent.ts'
import type { Task } from '../task.ts'
import { names, shown, text, scalarText, type FieldValue } from './yaml-values.ts'

/** What the names in a file may stand for. */
export interface NameScope {
  readonly models: Models
  readonly tools: ReadonlyMap<string, Tool>
  /** Undefined stands for one that could not be made. */
  readonly agents: ReadonlyMap<string, Agent | undefined>
  /** Where these agents are, in a message's words. */
  readonly agentsFrom: string
  /** Those that come before this one; undefined for one that could not be made. */
  readonly earlier: ReadonlyMap<string, Task | undefined>
  readonly taskNames: readonly string[]
  /** Tasks of the file that `order` does not name. */
  readonly leftOut: readonly string[]
  /** Of the agent or task itself. */
  readonly self: string
}

export type Models = { readonly [name: string]: LanguageModel | string }

/** CrewAI's ways of writing a model, as Reprise writes it. */
export function model(field: FieldValue, { models }: Pick<NameScope, 'models'>): LanguageModel | string | undefined {
  if (scalarText(field.value) === undefined) {
    throw field.refuse(
      `is ${shown(field.value)}; write provider/model, and below settings what else there is to say: temperature, maxOutputTokens`,
    )
  }
  const written = text(field)
  if (written === undefined) return undefined
  if (Object.hasOwn(models, written)) return models[written]
  const named = readModelName(written)
  if (named !== undefined) return named.name
  throw field.refuse(
    `${describe(written)} names no provider that Reprise knows; write provider/model, where provider is ` +
      `${knownProviders(written)}, or give a model by this name in the code: models: { ${JSON.stringify(written)}: … }${guess(written, Object.keys(models))}`,
  )
}

/**
 * An empty list is as none, as it is in CrewAI: a task then has its agent's tools. Of `custom:look_up` and
 * `crewai_tools:SerperDevTool`, the last part may be the name.
 */
export function tools(field: FieldValue, known: NameScope): readonly Tool[] | undefined {
  const found = names(field).map(({ name, at }) => {
    const short = name.slice(name.lastIndexOf(':') + 1)
    return { name, at, short, tool: known.tools.get(name) ?? known.tools.get(short) }
  })
  const missing = found.filter(({ tool }) => tool === undefined)
  const [first] = missing
  if (first) {
    const given = [...known.tools.keys()]
    const words = missing.map(({ name }) => describe(name)).join(', ')
    const code = `tools: { ${missing.map(({ short }) => `${JSON.stringify(short)}: …`).join(', ')} }`
    const one = missing.length === 1
    throw field.refuse(
      given.length === 0
        ? `${words} ${one ? 'stands' : 'stand'} for nothing, since no tools are given; give ${one ? 'it' : 'them'} in the code: ${code}`
        : `${words} ${one ? 'is' : 'are'} not among the tools given (${given.join(', ')})${guess(first.short, given) || `; give ${code}`}`,
      first.at,
    )
  }
  const list = found.flatMap(({ tool }) => tool ?? [])
  return list.length === 0 ? undefined : list
}

export function agent(field: FieldValue, known: NameScope): Agent | undefined {
  const name = text(field)
  return name === undefined ? undefined : agentNamed(name, known, (problem) => field.refuse(problem))
}

/** An empty list is none; a field that is left out, all earlier tasks. */
export function context(field: FieldValue, known: NameScope): readonly Task[] {
  return names(field).flatMap(({ name, at }) => taskNamed(name, known, (problem) => field.refuse(problem, at)) ?? [])
}

type Refuse = (problem: string) => Error

/** Undefined for one that is there and could not be made: what is wrong with it is said already. */
export function agentNamed(name: string, { agents, agentsFrom, self }: NameScope, refuse: Refuse): Agent | undefined {
  if (agents.has(name)) return agents.get(name)
  const there = [...agents.keys()]
  const instead = `write one of these, or in the code taskOptions: { ${self}: { agent: '${there[0]}' } }`
  const meant =
    guess(name, there) || (there.length === 0 ? '; there are none' : `; there are ${there.join(', ')}; ${instead}`)
  throw refuse(`${describe(name)} is not in ${agentsFrom}${meant}`)
}

/** As `agentNamed`. */
export function taskNamed(
  name: string,
  { earlier, taskNames, leftOut, self }: NameScope,
  refuse: Refuse,
): Task | undefined {
  if (earlier.has(name)) return earlier.get(name)
  if (name === self) throw refuse(`has the task itself; a task sees only earlier ones`)
  if (taskNames.includes(name)) {
    const words = `has ${name}, which comes later; a task sees only earlier ones`
    throw refuse(`${words}, so move ${name} up, or give the order in the code: order: ['${name}', '${self}', …]`)
  }
  if (leftOut.includes(name)) {
    throw refuse(`has ${name}, which order leaves out; add it there, or give another context in the code`)
  }
  const there = [...earlier.keys()]
  const meant = guess(name, taskNames) || `; before it there are ${there.join(', ') || 'none'}`
  throw refuse(`${describe(name)} is no task of this file${meant}`)
}

/** By the names that the tools have, and by those that a record gives them. */
export function toolsByName(given: unknown): ReadonlyMap<string, Tool> {
  const list = given === undefined ? [] : toolList('tools', given)
  const keys = isRecord(given) ? Object.keys(given) : []
  return new Map([
    ...list.map((tool): [string, Tool] => [tool.name, tool]),
    ...keys.flatMap((key, index): [string, Tool][] => (list[index] ? [[key, list[index]]] : [])),
  ])
}

export const modelsCheck: Check<Models> = check('an object: models: { name: model }', isRecord)
