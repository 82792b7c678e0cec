// tasks.yaml: a name for each task, and below it CrewAI's fields. The order of the file is the order of the crew.
import { RepriseError } from '../../errors.ts'
import { checkKeys } from '../../options.ts'
import type { Tools } from '../../tools/tool.ts'
import type { Agent } from '../agent.ts'
import type { TaskOptions } from '../options/task-options.ts'
import { taskTables } from '../options/task-kinds.ts'
import { Task } from '../task.ts'
import { openYaml, type Entry, type YamlDocument } from './document.ts'
import { placed, readFields, type Reading } from './read-fields.ts'
import { toolsByName } from './references.ts'
import { checkCode, namedEntries, readNames } from './sections.ts'
import type { FileReference } from './yaml-file.ts'

export interface LoadTasksOptions<Names extends readonly string[] = readonly string[]> {
  /** All tasks of the file in its order, so that the compiler knows them. It is an error when the file has others. */
  readonly names?: Names
  /** By the names that the file uses for them: what `loadAgents` gives, or your own. */
  readonly agents?: { readonly [name: string]: Agent }
  /** Those that the file names: by their own names, or by those of a record. */
  readonly tools?: Tools
  /** By task: what is said in TypeScript, such as `output` and `when`. It takes the place of what the file says. */
  readonly taskOptions?: { readonly [task: string]: Partial<Omit<TaskOptions, 'name'>> }
}

/**
 * The tasks of a file, in its order. CREW_INVALID with file, line and field; OPTION_INVALID, OPTION_UNKNOWN for `names`
 * that are not the file's.
 */
export function loadTasks<const Names extends readonly string[] = readonly string[]>(
  file: FileReference,
  options: LoadTasksOptions<Names> = {},
): { readonly [Index in keyof Names]: Task<Names[Index]> } {
  checkKeys('loadTasks', options, ['names', 'agents', 'tools', 'taskOptions'])
  const agents = new Map(Object.entries(options.agents ?? {}))
  const { document, tasks } = readTasks(file, { ...options, agents, agentsFrom: 'the agents given' })
  const there = tasks.map(({ name }) => name)
  const names = readNames(options.names, document, there)
  if (names && (names.length !== there.length || names.some((name, at) => name !== there[at]))) {
    const has = names.length === 0 ? 'nothing' : names.join(', ')
    const words = `names has ${has}, but the tasks of ${document.file} are ${there.join(', ')}; give all in this order`
    throw new RepriseError('OPTION_INVALID', words)
  }
  return tasks as { readonly [Index in keyof Names]: Task<Names[Index]> }
}

export interface TasksOfFile {
  readonly document: YamlDocument
  readonly entries: readonly Entry[]
  readonly tasks: readonly Task[]
}

export interface ReadTasksOptions extends Omit<LoadTasksOptions, 'agents' | 'names'> {
  readonly agents: ReadonlyMap<string, Agent>
  readonly agentsFrom: string
}

export function readTasks(file: FileReference, options: ReadTasksOptions): TasksOfFile {
  const tools = toolsByName(options.tools)
  const document = openYaml(file, 'task')
  const entries = namedEntries(document, 'task')
  const code = checkCode('taskOptions', options.taskOptions, document, entries)
  const reading: Reading = { document, table: taskTables.agent, inCode: 'taskOptions' }
  const { agents, agentsFrom } = options
  const earlier = new Map<string, Task>()
  const known = { models: {}, tools, agents, agentsFrom, earlier, taskNames: entries.map((entry) => entry.name) }
  for (const entry of entries) {
    const read = readFields(reading, entry, { ...known, self: entry.name }, code(entry.name))
    const make = (): Task => new Task({ ...(read as unknown as TaskOptions), name: entry.name })
    earlier.set(entry.name, placed(reading, entry, make))
  }
  return { document, entries, tasks: [...earlier.values()] }
}
