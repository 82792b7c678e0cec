// loadTasks: reads tasks.yaml, which maps names to the fields of tasks. Tasks execute in file order, unless the code
// sets another order. The code can assign agents and contexts by name, like crew.py in CrewAI.
import { isMap } from 'yaml'
import type { Logger } from '../../engine/definition.ts'
import { RepriseError } from '../../base/errors.ts'
import { checkKeys } from '../../base/options.ts'
import type { Tools } from '../../tools/tool.ts'
import type { Agent } from '../agent.ts'
import type { TaskOptions } from '../options/task-options.ts'
import { taskTables } from '../options/task-table.ts'
import { Task } from '../task.ts'
import { openYaml, checkCode, inOrder, namedEntries } from './document.ts'
import type { YamlEntry, YamlDocument, FileReference } from './document.ts'
import { newProblems, reportProblems, type Problems } from './problems.ts'
import { withPlace, readFields, type EntryReader } from './read-fields.ts'
import { agentNamed, taskNamed, toolsByName, type NameScope } from './references.ts'

/** Options of a task in TypeScript. Agents and tasks may be objects, or names from the files. */
export type TaskChanges = Partial<Omit<TaskOptions, 'name' | 'agent' | 'context'>> & {
  readonly agent?: Agent | string
  readonly context?: readonly (Task | string)[]
}

export interface LoadTasksOptions<Names extends readonly string[] = readonly string[]> {
  /** Agents by the names that the file uses: the result of `loadAgents`, or agents of your own. */
  readonly agents?: { readonly [name: string]: Agent }
  /** Tools to which the file refers, by tool name or by key of a record. */
  readonly tools?: Tools
  /** Options by task name, such as `output` and `when`. They override those of the file. */
  readonly taskOptions?: { readonly [task: string]: TaskChanges }
  /**
   * Names of tasks in the order of execution, which the compiler then knows. Other tasks of the file are left out.
   * Default: all tasks, in file order.
   */
  readonly order?: Names
  /** Receives warnings about fields that Reprise does not support. Default: warnings go to stderr. */
  readonly logger?: Logger
}

/**
 * Loads the tasks of a file, in file order or in `order`. Throws CREW_INVALID with file, line and field of all
 * mistakes, or OPTION_INVALID or OPTION_UNKNOWN for an invalid option.
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

/** Entries of tasks in a document. */
export interface TaskSource {
  readonly document: YamlDocument
  /** `unnamed` if the name of the task is derived from its texts. */
  readonly entries: readonly (YamlEntry & { readonly unnamed?: boolean })[]
}

export function tasksIn(document: YamlDocument): TaskSource {
  return { document, entries: namedEntries(document, 'task') }
}

interface TasksOfFile {
  /** The valid tasks. */
  readonly tasks: readonly Task[]
  /** Tasks for which neither the file nor the code sets an agent. */
  readonly withoutAgent: readonly YamlEntry[]
}

interface ReadTasksOptions extends Omit<LoadTasksOptions, 'agents'> {
  readonly agents: ReadonlyMap<string, Agent | undefined>
  readonly agentsFrom: string
}

/** Reads tasks; problems of the file are collected. Throws OPTION_INVALID or OPTION_UNKNOWN. */
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
    const scope = { ...known, self: entry.name }
    const fromCode = code(entry.name)
    if (!hasAgent(document, entry, fromCode)) withoutAgent.push(entry)
    const read = problems.try(() => readFields(reading, entry, scope, resolveNames(fromCode, scope)))
    const name = entry.unnamed ? {} : { name: entry.name }
    const create = (): Task =>
      withPlace(reading, entry, () => new Task({ ...(read as unknown as TaskOptions), ...name }))
    earlier.set(entry.name, read && problems.try(create))
  }
  return { tasks: [...earlier.values()].filter((task) => task !== undefined), withoutAgent }
}

type Options = { readonly [option: string]: unknown }

/** Returns the options from code, with names replaced by agents and tasks. Throws OPTION_INVALID. */
function resolveNames(fromCode: Options, scope: NameScope): Options {
  const { agent, context } = fromCode
  const refuse = (option: string) => (problem: string) =>
    new RepriseError('OPTION_INVALID', `taskOptions.${scope.self}.${option} ${problem}`)
  return {
    ...fromCode,
    ...(typeof agent === 'string' && { agent: agentNamed(agent, scope, refuse('agent')) }),
    ...(Array.isArray(context) && {
      context: (context as unknown[]).flatMap((item) =>
        typeof item === 'string' ? (taskNamed(item, scope, refuse('context')) ?? []) : [item],
      ),
    }),
  }
}

function hasAgent(document: YamlDocument, { value }: YamlEntry, fromCode: Options): boolean {
  if (fromCode['agent'] !== undefined || !isMap(value)) return true
  return document.entries(value).some((field) => field.name === 'agent' && field.value !== undefined)
}
