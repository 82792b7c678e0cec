// A crew from the two files that CrewAI users have, or from their crew.jsonc. The objects are those of TypeScript
// crews; only where they are described differs.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { existsSync } from 'node:fs'
import { optional } from '../../base/checks.ts'
import { defined } from '../../base/defined.ts'
import { checkNames } from '../../base/options.ts'
import { Crew } from '../crew.ts'
import { crewTable, type CrewOptions } from '../options/crew-options.ts'
import { openYaml, type YamlEntry } from './document.ts'
import { readCrewFields } from './json/crew-fields.ts'
import { crewJsonIn, isJson, openCrewJson } from './json/crew-json.ts'
import { agentsIn, readAgents, type AgentSource, type LoadAgentsOptions } from './load-agents.ts'
import { readTasks, tasksIn, type LoadTasksOptions, type TaskSource } from './load-tasks.ts'
import { newProblems, reportProblems, type Problems } from './problems.ts'
import { modelsCheck } from './references.ts'
import { invalid, locate, type FileReference } from './yaml-file.ts'

/** What a crew may be told beside its agents and tasks, and what stands behind the names in its files. */
export type YamlCrewOptions = Omit<CrewOptions, 'agents' | 'tasks'> &
  Omit<LoadAgentsOptions, 'names'> &
  Omit<LoadTasksOptions, 'agents'>

export interface YamlCrewFiles {
  readonly agents: FileReference
  readonly tasks: FileReference
}

const ownKeys = ['tools', 'models', 'agentOptions', 'taskOptions', 'order']

/**
 * A crew from a folder with agents.yaml and tasks.yaml, or with crew.jsonc; from that file; or from two files. Paths
 * are relative to the working folder; with `new URL('config/', import.meta.url)` they are to the module. CREW_INVALID
 * with file, line and field, of all mistakes at once; OPTION_INVALID, OPTION_UNKNOWN.
 */
export function crewFromYaml(folder: FileReference, options?: YamlCrewOptions): Crew
export function crewFromYaml(options: YamlCrewOptions & YamlCrewFiles): Crew
export function crewFromYaml(
  first: FileReference | (YamlCrewOptions & YamlCrewFiles),
  second: YamlCrewOptions = {},
): Crew {
  const inFolder = typeof first === 'string' || first instanceof URL
  const given: YamlCrewOptions = inFolder ? second : first
  // of the crew's own options, agents and tasks are not to be had beside a folder
  const keys = [...ownKeys, ...Object.keys(crewTable.options)]
  const allowed = keys.filter((key) => !inFolder || (key !== 'agents' && key !== 'tasks'))
  checkNames('crewFromYaml', given, crewTable, allowed)
  const problems = newProblems()
  const json = inFolder ? jsonFor(first) : undefined
  if (json !== undefined) return crewFromJson(json, given, problems)
  const files = inFolder ? crewFiles(first) : first
  const agents = problems.try(() => agentsIn(openYaml(files.agents, 'agent', problems)))
  const tasks = problems.try(() => tasksIn(openYaml(files.tasks, 'task', problems)))
  if (agents === undefined || tasks === undefined) throw problems.error
  return buildCrew(agents, tasks, given, problems)
}

function buildCrew(agentSource: AgentSource, taskSource: TaskSource, given: YamlCrewOptions, problems: Problems): Crew {
  const { agentOptions, models, taskOptions, tools, order, ...rest } = given
  const { logger } = rest
  const agents = readAgents(agentSource, defined({ tools, models, agentOptions }), problems)
  const from = { agents, agentsFrom: agentSource.from }
  const { tasks, withoutAgent } = readTasks(
    taskSource,
    { ...defined({ tools, taskOptions, order }), ...from },
    problems,
  )
  // a manager may be one of the file: then it is none of those that it hands work to
  const isManager = (name: string): boolean => name === rest.manager
  const names = [...agents].flatMap(([name, agent]) => (agent && !isManager(name) ? [name] : []))
  if (rest.process !== 'hierarchical' && names.length > 1) {
    problems.try(() => checkAgents(taskSource, withoutAgent, names, agentSource.from))
  }
  reportProblems(problems, logger)
  const manager = [...agents].find(([name]) => isManager(name))?.[1]
  return new Crew({
    ...rest,
    ...defined({ manager: manager ?? rest.manager }),
    agents: [...agents].flatMap(([name, agent]) => (agent && !isManager(name) ? [agent] : [])),
    tasks,
  })
}

/** The file itself, or the one in the folder. A folder that has the two files is meant for these. */
function jsonFor(reference: FileReference): FileReference | undefined {
  if (isJson(reference)) return reference
  const { agents, tasks } = crewFiles(reference)
  return [agents, tasks].some((file) => existsSync(file)) ? undefined : crewJsonIn(reference)
}

function crewFromJson(file: FileReference, given: YamlCrewOptions, problems: Problems): Crew {
  const opened = problems.try(() => openCrewJson(file, problems))
  if (opened === undefined) throw problems.error
  const models = optional('models', given.models, modelsCheck) ?? {}
  const { options, inputs } = readCrewFields(opened.document, given, models, problems)
  const { beforeKickoff } = given
  const before: YamlCrewOptions['beforeKickoff'] = async (asked) => {
    const all = { ...inputs, ...asked }
    return (await beforeKickoff?.(all)) ?? all
  }
  const made = Object.keys(inputs).length === 0 ? {} : { beforeKickoff: before }
  return buildCrew(opened.agents, opened.tasks, { ...options, ...defined(given), ...made }, problems)
}

function crewFiles(folder: FileReference): YamlCrewFiles {
  const { path, isUrl } = locate(folder)
  const fileIn = (name: string): FileReference => (isUrl ? pathToFileURL(join(path, name)) : join(path, name))
  return { agents: fileIn('agents.yaml'), tasks: fileIn('tasks.yaml') }
}

/** The crew would refuse this as well, but knows neither the lines nor the names. In CrewAI, crew.py says it. */
function checkAgents(
  { document }: TaskSource,
  without: readonly YamlEntry[],
  names: readonly string[],
  from: string,
): void {
  const [first, ...more] = without
  if (first === undefined) return
  const inCode = `taskOptions: { ${first.name}: { agent: '${names[0]}' }${more.length > 0 ? ', …' : ''} }`
  const there = `${from} has ${names.length}`
  const instead = `with one of ${names.join(', ')}, or give it in the code: ${inCode}`
  if (more.length === 0) {
    throw invalid(
      `${document.place(first.key)}: task ${first.name}: agent is missing, and ${there}; write agent: ${instead}`,
    )
  }
  const tasks = without.map(({ name }) => name).join(', ')
  throw invalid(
    `${document.place(first.key)}: agent is missing in tasks ${tasks}, and ${there}; write in each agent: ${instead}`,
  )
}
