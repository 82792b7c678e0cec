// Names in a file that stand for something else: a model, a tool, an agent, an earlier task. One that stands for
// nothing is refused with what there is.
import { check, type Check } from '../../checks.ts'
import { knownProviders, readModelName } from '../../models/resolve/model-names.ts'
import type { LanguageModel } from '../../models/resolve/resolve-model.ts'
import { describe, guess, isRecord } from '../../options.ts'
import { toolList, type Tool } from '../../tools/tool.ts'
import type { Agent } from '../agent.ts'
import type { Task } from '../task.ts'
import { names, shown, text, textOf, type FieldValue } from './yaml-values.ts'

/** What the names in a file may stand for. */
export interface Known {
  readonly models: Models
  readonly tools: ReadonlyMap<string, Tool>
  readonly agents: ReadonlyMap<string, Agent>
  /** Where these agents are, in a message's words. */
  readonly agentsFrom: string
  /** Those that stand before this one in the file. */
  readonly earlier: ReadonlyMap<string, Task>
  readonly taskNames: readonly string[]
  /** Of the agent or task itself. */
  readonly self: string
}

export type Models = { readonly [name: string]: LanguageModel | string }

/** CrewAI's ways of writing a model, as Reprise writes it. */
export function model(field: FieldValue, { models }: Known): LanguageModel | string | undefined {
  if (textOf(field.value) === undefined) {
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

/** An empty list is as none, as it is in CrewAI: a task then has its agent's tools. */
export function tools(field: FieldValue, known: Known): readonly Tool[] | undefined {
  const list = names(field).map(({ name, at }) => {
    const found = known.tools.get(name)
    if (found) return found
    const given = [...known.tools.keys()]
    const missing =
      given.length === 0
        ? `stands for nothing, since no tools are given; give it in the code: tools: { ${JSON.stringify(name)}: … }`
        : `is not among the tools given (${given.join(', ')})${guess(name, given)}`
    throw field.refuse(`${describe(name)} ${missing}`, at)
  })
  return list.length === 0 ? undefined : list
}

export function agent(field: FieldValue, { agents, agentsFrom }: Known): Agent | undefined {
  const name = text(field)
  const found = name === undefined ? undefined : agents.get(name)
  if (name === undefined || found) return found
  const there = [...agents.keys()]
  const meant = guess(name, there) || `; there are ${there.join(', ') || 'none'}`
  throw field.refuse(`${describe(name)} is not in ${agentsFrom}${meant}`)
}

/** An empty list is none; a field that is left out, all earlier tasks. */
export function context(field: FieldValue, { earlier, taskNames, self }: Known): readonly Task[] {
  return names(field).map(({ name, at }) => {
    const found = earlier.get(name)
    if (found) return found
    if (name === self) throw field.refuse(`has the task itself; a task sees only earlier ones`, at)
    if (taskNames.includes(name)) {
      throw field.refuse(`has ${name}, which comes later; a task sees only earlier ones, so move ${name} up`, at)
    }
    const there = [...earlier.keys()]
    const meant = guess(name, taskNames) || `; before it there are ${there.join(', ') || 'none'}`
    throw field.refuse(`${describe(name)} is no task of this file${meant}`, at)
  })
}

/** CrewAI lets a task have another name than its key. Here the key is what everything refers to. */
export function sameName(field: FieldValue, { self }: Known): undefined {
  const name = text(field)
  if (name === undefined || name === self) return undefined
  throw field.refuse(`is ${describe(name)}, but a task's name is its key; rename ${self}, or leave name out`)
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
