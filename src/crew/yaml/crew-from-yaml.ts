// crewFromYaml: builds a crew from agents.yaml and tasks.yaml, or from crew.jsonc, the files of CrewAI. The result is
// the same as for a crew written in TypeScript.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { existsSync } from 'node:fs'
import { optional, checkNames, defined } from '../../base/options.ts'
import { Crew } from '../crew.ts'
import { crewTable, type CrewOptions } from '../options/crew-options.ts'
import { openYaml, type YamlEntry, invalid, locate, type FileReference } from './document.ts'
import { readCrewFields, crewJsonIn, isJson, openCrewJson } from './crew-json.ts'
import { agentsIn, readAgents, type AgentSource, type LoadAgentsOptions } from './load-agents.ts'
import { readTasks, tasksIn, type LoadTasksOptions, type TaskSource } from './load-tasks.ts'
import { newProblems, reportProblems, type Problems } from './problems.ts'
import { modelsCheck } from './references.ts'

/** Options of the crew, except for agents and tasks, and the objects to which names in the files refer. */
export type YamlCrewOptions = Omit<CrewOptions, 'agents' | 'tasks'> &
  Omit<LoadAgentsOptions, 'names'> &
  Omit<LoadTasksOptions, 'agents'>

export interface YamlCrewFiles {
  readonly agents: FileReference
  readonly tasks: FileReference
}

const ownKeys = ['tools', 'models', 'agentOptions', 'taskOptions', 'order']

/**
 * Builds a crew from a folder with agents.yaml and tasks.yaml, or with crew.jsonc; from a crew.jsonc file; or from two
 * files. Paths are relative to the working folder; for paths relative to the module, use `new URL('config/',
 * import.meta.url)`. Throws CREW_INVALID with file, line and field of all mistakes, OPTION_INVALID or OPTION_UNKNOWN.
 */
export function crewFromYaml(folder: FileReference, options?: YamlCrewOptions): Crew
export function crewFromYaml(options: YamlCrewOptions & YamlCrewFiles): Crew
export function crewFromYaml(
  first: FileReference | (YamlCrewOptions & YamlCrewFiles),
  second: YamlCrewOptions = {},
): Crew {
  const inFolder = typeof first === 'string' || first instanceof URL
  const given: YamlCrewOptions = inFolder ? second : first
  // with a folder, the options `agents` and `tasks` are not allowed
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
  // the manager may be an agent of the file, which is then not one of the agents of the crew
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

/**
 * Returns the file itself if it is JSON, or the crew.jsonc in the folder. Undefined if there is none, or if the folder
 * has one of the YAML files.
 */
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
  const withDefaultInputs: YamlCrewOptions['beforeKickoff'] = async (passed) => {
    const merged = { ...inputs, ...passed }
    return (await beforeKickoff?.(merged)) ?? merged
  }
  const hook = Object.keys(inputs).length === 0 ? {} : { beforeKickoff: withDefaultInputs }
  return buildCrew(opened.agents, opened.tasks, { ...options, ...defined(given), ...hook }, problems)
}

function crewFiles(folder: FileReference): YamlCrewFiles {
  const { path, isUrl } = locate(folder)
  const fileIn = (name: string): FileReference => (isUrl ? pathToFileURL(join(path, name)) : join(path, name))
  return { agents: fileIn('agents.yaml'), tasks: fileIn('tasks.yaml') }
}

/** Refuses tasks without an agent, as the crew itself does; but its message has lines and names of the file. */
function checkAgents(
  { document }: TaskSource,
  tasksWithoutAgent: readonly YamlEntry[],
  names: readonly string[],
  from: string,
): void {
  const [first, ...more] = tasksWithoutAgent
  if (first === undefined) return
  const inCode = `taskOptions: { ${first.name}: { agent: '${names[0]}' }${more.length > 0 ? ', …' : ''} }`
  const there = `${from} has ${names.length}`
  const advice = `with one of ${names.join(', ')}, or give it in the code: ${inCode}`
  if (more.length === 0) {
    throw invalid(
      `${document.place(first.key)}: task ${first.name}: agent is missing, and ${there}; write agent: ${advice}`,
    )
  }
  const tasks = tasksWithoutAgent.map(({ name }) => name).join(', ')
  throw invalid(
    `${document.place(first.key)}: agent is missing in tasks ${tasks}, and ${there}; write in each agent: ${advice}`,
  )
}
