// Makes the engine's definition of a crew from its options.
import type { CrewDefinition } from '../../engine/definition.ts'
import { readOptions } from '../../base/options.ts'
import type { Agent } from '../agent.ts'
import { engineCallbacks } from '../callbacks.ts'
import { quietLogger, safeLogger, verboseLogger } from '../open-crew.ts'
import { crewTable, type CrewOptions, type HiddenCrewOptions } from '../options/crew-options.ts'
import { flowIn, flowTable } from '../options/flow-options.ts'
import type { Tasks } from '../result/result.ts'
import { stableId } from '../task.ts'
import { resolveManager } from './define-agent.ts'
import { defineTasks, readStandIns } from './define-tasks.ts'

interface DefinedCrew<T extends Tasks> {
  readonly definition: CrewDefinition
  readonly tasks: T
  readonly agents: readonly Agent[]
}

/** Throws CREW_INVALID, OPTION_INVALID or OPTION_UNKNOWN. */
export function defineCrew<T extends Tasks>(options: CrewOptions<T>): DefinedCrew<T> {
  const { '~world': world, '~chat': chat, ...publicOptions } = { ...options } as typeof options & HiddenCrewOptions
  const given = world || chat ? publicOptions : options
  const flow = flowIn(options)
  const settings = flow
    ? ({ ...readOptions(flowTable, given), process: 'parallel', onTaskFailure: 'stop' } as const)
    : readOptions(crewTable, given)
  const declared = flow ? ([] as never) : options.tasks
  const agents = options.agents ?? [...new Set(declared.flatMap((task) => task.agent ?? []))]
  const manager = flow ? undefined : resolveManager(options, agents)
  const { process } = settings
  const tasks = flow ? [] : defineTasks(declared, agents, readStandIns(options), { process, manager })
  const verbose = options.verbose ?? agents.some((agent) => agent.verbose)
  const definition: CrewDefinition = {
    name: options.name ?? `crew-${stableId('crew', ...tasks.map((task) => task.id)).slice(0, 8)}`,
    version: settings.version,
    accepts: options.accepts,
    retries: settings.retries,
    onTaskFailure: settings.onTaskFailure,
    tasks,
    flow,
    inputs: settings.inputs,
    process,
    concurrency: settings.concurrency,
    budget: options.budget,
    maxRpm: options.maxRpm,
    maxRuns: options.maxRuns,
    logger: options.logger ? safeLogger(options.logger) : verbose ? verboseLogger : quietLogger,
    prices: settings.prices,
    callbacks: engineCallbacks(options, declared, () => definition),
  }
  return { definition, tasks: declared, agents }
}
