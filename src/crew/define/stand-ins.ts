// Stand-ins for the models and tools of a crew, used by `crew.with`, mostly in tests.
import type { CrewDefinition } from '../../engine/definition.ts'
import { RepriseError } from '../../base/errors.ts'
import { nearest } from '../../base/options.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Agent } from '../agent.ts'
import type { Overrides } from './define-tasks.ts'
import { everyCoworker } from './define-agent.ts'

/** A symbol, so that users can't pass it as an option. */
const standIns = Symbol('stand-ins')

export function readStandIns(options: object): Overrides {
  return (options as { readonly [standIns]?: Overrides })[standIns] ?? {}
}

/** Adds stand-ins; they win over existing ones. */
export function withStandIns<Options extends object>(options: Options, { model, tools }: Overrides): Options {
  const before = readStandIns(options)
  const all = { model: model ?? before.model, tools: new Map([...(before.tools ?? []), ...(tools ?? [])]) }
  return { ...options, [standIns]: all }
}

/** CREW_INVALID if a stand-in has no tool to replace: otherwise the real tool would be called. */
export function checkStandIns(crew: CrewDefinition, agents: readonly Agent[], tools: readonly Tool[]): void {
  const there = new Set([...agents.flatMap((agent) => agent.tools).map(({ name }) => name), ...crewToolNames(crew)])
  const unknown = tools.find(({ name }) => !there.has(name))
  if (!unknown) return
  const near = nearest(unknown.name, [...there])
  const meant = near === undefined ? '' : `; did you mean ${near}?`
  const names = there.size === 0 ? 'it has none' : `it has ${[...there].join(', ')}`
  throw new RepriseError(
    'CREW_INVALID',
    `crew ${crew.name} has no tool ${JSON.stringify(unknown.name)} to replace${meant} (${names})`,
  )
}

/** Tool names of all tasks, their coworkers, and nested crews. */
function crewToolNames({ tasks }: CrewDefinition): string[] {
  return tasks.flatMap(({ tools, coworkers, child }) => {
    const used = [...tools, ...everyCoworker(coworkers).flatMap((coworker) => coworker.tools)]
    return [...used.map(({ name }) => name), ...(child ? crewToolNames(child.crew) : [])]
  })
}
