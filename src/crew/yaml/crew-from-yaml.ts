// A crew from the two files that CrewAI users have. The objects are those of TypeScript crews; only where they are
// described differs.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { checkNames } from '../../option-table.ts'
import { Crew } from '../crew.ts'
import { crewTable, type CrewOptions } from '../options/crew-options.ts'
import { readAgents, type AgentsOfFile, type LoadAgentsOptions } from './load-agents.ts'
import { readTasks, type LoadTasksOptions, type TasksOfFile } from './load-tasks.ts'
import { invalid, locate, type FileReference } from './yaml-file.ts'

/** What a crew may be told beside its agents and tasks, and what stands behind the names in its files. */
export type YamlCrewOptions = Omit<CrewOptions, 'agents' | 'tasks'> &
  Omit<LoadAgentsOptions, 'names'> &
  Omit<LoadTasksOptions, 'agents' | 'names'>

export interface YamlCrewFiles {
  readonly agents: FileReference
  readonly tasks: FileReference
}

const ownKeys = ['tools', 'models', 'agentOptions', 'taskOptions']

/**
 * A crew from a folder with agents.yaml and tasks.yaml, or from two files. Paths are relative to the working folder;
 * with `new URL('config/', import.meta.url)` they are to the module. CREW_INVALID with file, line and field;
 * OPTION_INVALID, OPTION_UNKNOWN.
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
  const files = inFolder ? filesIn(first) : first
  const { agentOptions, models, taskOptions, tools, ...rest } = given
  const shared = tools === undefined ? {} : { tools }
  const ofAgents = readAgents(files.agents, {
    ...shared,
    ...(models && { models }),
    ...(agentOptions && { agentOptions }),
  })
  const ofTasks = readTasks(files.tasks, {
    ...shared,
    ...(taskOptions && { taskOptions }),
    agents: ofAgents.agents,
    agentsFrom: ofAgents.document.file,
  })
  if ((rest.process ?? 'sequential') === 'sequential') checkAgents(ofTasks, ofAgents)
  return new Crew({ ...rest, agents: [...ofAgents.agents.values()], tasks: ofTasks.tasks })
}

function filesIn(folder: FileReference): YamlCrewFiles {
  const { path, isUrl } = locate(folder)
  const fileIn = (name: string): FileReference => (isUrl ? pathToFileURL(join(path, name)) : join(path, name))
  return { agents: fileIn('agents.yaml'), tasks: fileIn('tasks.yaml') }
}

/** The crew would refuse this as well, but does not know the line. */
function checkAgents({ document, entries, tasks }: TasksOfFile, { document: other, agents }: AgentsOfFile): void {
  const without = tasks.findIndex((task) => task.agent === undefined)
  const entry = entries[without]
  if (entry === undefined || agents.size === 1) return
  const names = [...agents.keys()].join(', ')
  throw invalid(
    `${document.place(entry.key)}: task ${entry.name}: agent is missing, and ${other.file} has ${agents.size}; write agent: with one of ${names}`,
  )
}
