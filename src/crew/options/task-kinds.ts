// The three types of tasks, with the options that each has. The compiler checks that the table and the interfaces
// agree.
import {
  type WithDefault,
  isRecord,
  type OptionValues,
  type Option,
  ownMember,
  readOptions,
  type Table,
} from '../../base/options.ts'
import type { AnswerSchema } from '../../schema/answer-schema.ts'
import type { Task } from '../task.ts'
import type { FromYaml } from './crew-checks.ts'
import type { CodeTaskOptions, CrewTaskOptions, TaskOptions } from './task-options.ts'
import { taskLacks, taskRows } from './task-table.ts'

interface Kinds {
  readonly agent: TaskOptions
  readonly run: CodeTaskOptions
  readonly crew: CrewTaskOptions
}
type Kind = keyof Kinds
type AllTaskOptions = Partial<TaskOptions & CodeTaskOptions & CrewTaskOptions>
/** The options after checks and defaults. */
type TaskSettings = Omit<Task, 'name' | 'description'> & {
  readonly output: AnswerSchema | undefined
  readonly effect: CodeTaskOptions['effect'] & {}
}

/** The types of tasks that have an option, and whether they require it. */
type KindsWith<Name extends keyof AllTaskOptions> = {
  readonly [K in Kind as Name extends keyof Kinds[K] ? K : never]: Name extends keyof Kinds[K]
    ? {} extends Pick<Kinds[K], Name>
      ? 'may'
      : 'must'
    : never
}

type TaskRow<Name extends keyof AllTaskOptions> = Option<OptionValues<AllTaskOptions, TaskSettings>[Name]> &
  WithDefault<OptionValues<AllTaskOptions, TaskSettings>[Name]> & {
    readonly of: KindsWith<Name>
  } & (Name extends keyof TaskOptions ? { readonly yaml: FromYaml } : {})

export type TaskRows = { readonly [Name in keyof AllTaskOptions]-?: TaskRow<Name> }

type TaskTable = Table<AllTaskOptions, TaskSettings, { readonly yaml: FromYaml }>

/**
 * One table per type. The rows of function tasks and nested crews have no YAML form: files only declare agent tasks.
 */
export const taskTables: { readonly [K in Kind]: TaskTable } = {
  agent: tableOf('agent'),
  run: tableOf('run', 'with run'),
  crew: tableOf('crew', 'with a crew'),
}

/** All options after checks and defaults. Options that this type of task doesn't have get their defaults. */
export function readTaskOptions(options: unknown): OptionValues<AllTaskOptions, TaskSettings> {
  const kind = isRecord(options) && 'crew' in options ? 'crew' : isRecord(options) && 'run' in options ? 'run' : 'agent'
  const defaults = Object.entries<Option>(taskRows).map(([key, row]) => [key, row.default])
  return { ...Object.fromEntries(defaults), ...readOptions(taskTables[kind], options) } as OptionValues<
    AllTaskOptions,
    TaskSettings
  >
}

function tableOf(kind: Kind, words?: string): TaskTable {
  const rows = Object.entries<Option & { readonly of: { readonly [kind: string]: 'may' | 'must' } }>(taskRows)
  const options = rows.flatMap(([key, row]) => {
    const has = ownMember(row.of, kind)
    return has === undefined ? [] : [[key, { ...row, required: has === 'must' }]]
  })
  const named = words === undefined ? {} : { kind: words }
  return { object: 'task', called: 'name', ...named, options: Object.fromEntries(options) as never, lacks: taskLacks }
}
