// tasks.yaml: a name for each task, and below it CrewAI's fields. The order of the file is the order of the crew,
// unless the code gives another. Who does a task and what it is given, the code may say by name, as crew.py does in
// CrewAI.
import { isMap } from 'yaml'
import type { Logger } from '../../engine/definition.ts'
import { RepriseError } from '../../base/errors.ts'
import { checkKeys } from '../../base/options.ts'
import type { Tools } from '../../tools/tool.ts'
import type { Agent } from '../agent.ts'
import type { TaskOptions } from '../options/task-options.ts'
import { taskTables } from '../options/task-kinds.ts'
import { Task } from '../task.ts'
import { openYaml, type YamlEntry, type YamlDocument } from './document.ts'
import { newProblems, reportProblems, type Problems } from './problems.ts'
import { withPlace, readFields, type EntryReader } from './fields/read-fields.ts'
import { agentNamed, taskNamed, toolsByName, type NameScope } from './references.ts'
import { checkCode, inOrder, namedEntries } from './sections.ts'
import type { FileReference } from './yaml-file.ts'

/** What is said about a task in TypeScript. Agents and tasks may be given by their names in the files. */
export type TaskChanges = Partial<Omit<TaskOptions, 'name' | 'agent' | 'context'>> & {
  readonly agent?: Agent | string
  readonly context?: readonly (Task | string)[]
}

export interface LoadTasksOptions<Names extends readonly string[] = readonly string[]> {
  /** By the names that the file uses for them: what `loadAgents` gives, or your own. */
  readonly agents?: { readonly [name: string]: Agent }
  /** Those that the file names: by their own names, or by those of a record. */
  readonly tools?: Tools
  /** By task: what is said in TypeScript, such as `output` and `when`. It takes the place of what the file says. */
  readonly taskOptions?: { readonly [task: string]: TaskChanges }
  /**
   * The names of the tasks in the order of the crew, which the compiler then knows; others of the file are left out.
   * Without it: all.
   */
  readonly order?: Names
  /** Is told what the file asks for and Reprise does not have. Left out, that is printed as a warning. */
  readonly logger?: Logger
}

/**
 * The tasks of a file, in its order or the one given. CREW_INVALID with file, line and field, of all mistakes at once;
 * OPTION_INVALID, OPTION_UNKNOWN for `order`.
 */
export function loadTasks<const Names extends readonly string[] = readonly string[]>(
  file: FileReference,
  options: LoadTasksOptions<Names> = {},
): { readonly [Index in keyof Names]: Task<Names[Index]> } {
  checkKeys('loadTasks', options, ['agents', 'tools', 'taskOptions', 'order', 'logger'])
  const agents = new Map(Object.entries(options.agents ?? {}))
  const problems = newProblems()
  const source = tasksIn(openYaml(file, 'task', problems))
  const { tasks } = readTasks(source, { ...options, agents, agentsFrom: 'the agents given' }, problems)
  reportProblems(problems, options.logger)
  return tasks as { readonly [Index in keyof Names]: Task<Names[Index]> }
}

/** Where tasks are described. */
export interface TaskSource {
  readonly document: YamlDocument
  /** `unnamed` ones are known by a name that is derived from their texts. */
  readonly entries: readonly (YamlEntry & { readonly unnamed?: boolean })[]
}

export function tasksIn(document: YamlDocument): TaskSource {
  return { document, entries: namedEntries(document, 'task') }
}

export interface TasksOfFile {
  /** Those that could be made. */
  readonly tasks: readonly Task[]
  /** Those about which neither the file nor the code says who does them. */
  readonly withoutAgent: readonly YamlEntry[]
}

export interface ReadTasksOptions extends Omit<LoadTasksOptions, 'agents'> {
  readonly agents: ReadonlyMap<string, Agent | undefined>
  readonly agentsFrom: string
}

/** OPTION_INVALID, OPTION_UNKNOWN. */
export function readTasks(
  { document, entries }: TaskSource,
  options: ReadTasksOptions,
  problems: Problems,
): TasksOfFile {
  const tools = toolsByName(options.tools)
  const code = checkCode('taskOptions', options.taskOptions, document.file, entries)
  const ordered = inOrder(options.order, document.file, entries)
  const reading: EntryReader = { document, table: taskTables.agent, inCode: 'taskOptions', problems }
  const { agents, agentsFrom } = options
  const earlier = new Map<string, Task | undefined>()
  const taskNames = ordered.map((entry) => entry.name)
  const leftOut = entries.map((entry) => entry.name).filter((name) => !taskNames.includes(name))
  const known = { models: {}, tools, agents, agentsFrom, earlier, taskNames, leftOut }
  const withoutAgent: YamlEntry[] = []
  for (const entry of ordered) {
    const about = { ...known, self: entry.name }
    const said = code(entry.name)
    if (!hasAgent(document, entry, said)) withoutAgent.push(entry)
    const read = problems.try(() => readFields(reading, entry, about, resolveNames(said, about)))
    const name = entry.unnamed ? {} : { name: entry.name }
    const make = (): Task => withPlace(reading, entry, () => new Task({ ...(read as unknown as TaskOptions), ...name }))
    earlier.set(entry.name, read && problems.try(make))
  }
  return { tasks: [...earlier.values()].filter((task) => task !== undefined), withoutAgent }
}

type Options = { readonly [option: string]: unknown }

/** What the code says about a task, with agents and tasks in place of their names. OPTION_INVALID. */
function resolveNames(said: Options, known: NameScope): Options {
  const { agent, context } = said
  const refuse = (option: string) => (problem: string) =>
    new RepriseError('OPTION_INVALID', `taskOptions.${known.self}.${option} ${problem}`)
  return {
    ...said,
    ...(typeof agent === 'string' && { agent: agentNamed(agent, known, refuse('agent')) }),
    ...(Array.isArray(context) && {
      context: (context as unknown[]).flatMap((item) =>
        typeof item === 'string' ? (taskNamed(item, known, refuse('context')) ?? []) : [item],
      ),
    }),
  }
}

function hasAgent(document: YamlDocument, { value }: YamlEntry, said: Options): boolean {
  if (said['agent'] !== undefined || !isMap(value)) return true
  return document.entries(value).some((field) => field.name === 'agent' && field.value !== undefined)
}
