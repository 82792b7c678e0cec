// What stands in for the models and tools of a crew in a copy of it, for tests.
import type { CrewDefinition } from '../../engine/definition.ts'
import { RepriseError } from '../../base/errors.ts'
import { nearest } from '../../base/options.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Agent } from '../agent.ts'
import type { Overrides } from './define-tasks.ts'
import { everyCoworker } from './define-agent.ts'

/** No option that people could give. */
const standIns = Symbol('stand-ins')

export function readStandIns(options: object): Overrides {
  return (options as { readonly [standIns]?: Overrides })[standIns] ?? {}
}

/** Over those that the options have already. */
export function withStandIns<Options extends object>(options: Options, { model, tools }: Overrides): Options {
  const before = readStandIns(options)
  const all = { model: model ?? before.model, tools: new Map([...(before.tools ?? []), ...(tools ?? [])]) }
  return { ...options, [standIns]: all }
}

/** CREW_INVALID when one of them would stand in for nothing: then the tool that it was meant for would be called. */
export function checkStandIns(crew: CrewDefinition, agents: readonly Agent[], tools: readonly Tool[]): void {
  const there = new Set([...agents.flatMap((agent) => agent.tools).map(({ name }) => name), ...crewToolNames(crew)])
  const unknown = tools.find(({ name }) => !there.has(name))
  if (!unknown) return
  const near = nearest(unknown.name, [...there])
  const meant = near === undefined ? '' : `; did you mean ${near}?`
  const names = there.size === 0 ? 'it has none' : `it has ${[...there].join(', ')}`
  throw new RepriseError(
    'CREW_INVALID',
    `crew ${crew.name} has no tool ${JSON.stringify(unknown.name)} that this one could stand in for${meant} (${names})`,
  )
}

/** Those of its tasks, of agents that they hand work to, and of crews that are tasks. */
function crewToolNames({ tasks }: CrewDefinition): string[] {
  return tasks.flatMap(({ tools, coworkers, child }) => {
    const used = [...tools, ...everyCoworker(coworkers).flatMap((coworker) => coworker.tools)]
    return [...used.map(({ name }) => name), ...(child ? crewToolNames(child.crew) : [])]
  })
}
