// The options of tasks, in one table for the three kinds: each row says which of them have it, and the compiler holds that true.
import { anyText, check, flag, func, seconds, text, whole, type Check } from '../../checks.ts'
import { readOptions, type KeptOptions, type Lack, type Option, type Table } from '../../option-table.ts'
import { isRecord, own } from '../../options.ts'
import type { AnswerSchema } from '../../schema/answer-schema.ts'
import { effectCheck } from '../../tools/tool-options.ts'
import { outputFileCheck } from '../define/output-path.ts'
import { guardrailsCheck } from '../guardrails.ts'
import type { Task } from '../task.ts'
import { agentCheck, nameCheck, schemaCheck, tasksCheck, toolsCheck, type FromYaml } from './crew-checks.ts'
import type { CodeTaskOptions, CrewTaskOptions, TaskOptions } from './task-options.ts'

interface Kinds {
  readonly agent: TaskOptions
  readonly run: CodeTaskOptions
  readonly crew: CrewTaskOptions
}
type Kind = keyof Kinds
type All = Partial<TaskOptions & CodeTaskOptions & CrewTaskOptions>
/** As a task keeps them. */
type Made = Omit<Task, 'name' | 'description'> & {
  readonly output: AnswerSchema | undefined
  readonly effect: CodeTaskOptions['effect'] & {}
}

/** The kinds that have an option, with whether they need it. */
type Of<Name extends keyof All> = {
  readonly [K in Kind as Name extends keyof Kinds[K] ? K : never]: Name extends keyof Kinds[K]
    ? {} extends Pick<Kinds[K], Name>
      ? 'may'
      : 'must'
    : never
}

type Row<Name extends keyof All> = Option<KeptOptions<All, Made>[Name]> & {
  readonly of: Of<Name>
} & (Name extends keyof TaskOptions ? { readonly yaml: FromYaml } : {})

const all = { agent: 'may', run: 'may', crew: 'may' } as const
const written = { agent: 'may', run: 'may' } as const

const crewCheck: Check<never> = check(
  'a crew made with new Crew({ … })',
  (value) => typeof value === 'object' && value !== null && '~definition' in value,
)
const inputsCheck: Check<never> = check(
  'an object, or a function of `{ inputs, outputs }`',
  (value) => typeof value === 'function' || isRecord(value),
)

export const taskRows: { readonly [Name in keyof All]-?: Row<Name> } = {
  name: {
    takes: nameCheck,
    of: { agent: 'may', run: 'must', crew: 'must' },
    leftOut: 'derived from the texts, and changes with them',
    yaml: 'key',
    does: 'its identity',
  },
  description: {
    takes: text,
    of: { agent: 'must', run: 'may', crew: 'may' },
    yaml: 'text',
    does: 'what to do',
  },
  expectedOutput: { takes: anyText, of: { agent: 'may' }, yaml: 'text', does: 'what the result looks like' },
  agent: {
    takes: agentCheck,
    of: { agent: 'may' },
    leftOut: 'that of the crew, where it has one',
    yaml: 'agent',
    does: 'who does it',
  },
  context: {
    takes: tasksCheck,
    of: all,
    leftOut: 'all earlier tasks',
    yaml: 'context',
    does: 'the earlier tasks whose outputs it is given; an empty list: none',
  },
  output: {
    takes: schemaCheck,
    of: written,
    leftOut: 'a text',
    crewai: ['output_pydantic', 'output_json', 'response_model', 'converter_cls'],
    yaml: { code: 'output: z.object({ … })' },
    does: 'the schema that its output must fit',
  },
  tools: {
    takes: toolsCheck,
    of: { agent: 'may' },
    leftOut: "the agent's",
    yaml: 'tools',
    does: "in place of the agent's tools",
  },
  guardrails: {
    takes: guardrailsCheck,
    of: { agent: 'may' },
    default: [],
    crewai: ['guardrail'],
    yaml: 'sentences',
    does: 'what an answer must pass after its schema: functions, or sentences that a model judges by',
  },
  retries: {
    takes: whole(0),
    of: { agent: 'may' },
    default: 3,
    crewai: ['guardrail_max_retries', 'max_retries'],
    yaml: 'number',
    does: 'how often an answer that was refused goes back to the model',
  },
  humanInput: { takes: flag, of: { agent: 'may' }, default: false, yaml: 'flag', does: 'a person judges the result' },
  markdown: {
    takes: flag,
    of: { agent: 'may' },
    default: false,
    yaml: 'flag',
    does: 'the model is asked for Markdown',
  },
  run: {
    takes: func,
    of: { run: 'must' },
    does: 'the function, which is given `{ inputs, outputs, idempotencyKey, signal, run, task, readFile }`',
  },
  effect: { takes: effectCheck, of: { run: 'may' }, default: 'once', does: 'what doing it again means, as for tools' },
  settle: {
    takes: func,
    of: { run: 'may' },
    does: 'finds out whether a `once` function that was cut off did its work',
  },
  maxSeconds: { takes: seconds, of: { run: 'may' }, leftOut: 'no limit', does: 'past this the function is given up' },
  crew: { takes: crewCheck, of: { crew: 'must' }, does: 'the crew that does it, in a run of its own' },
  inputs: { takes: inputsCheck, of: { crew: 'may' }, leftOut: 'those of this run', does: 'what that crew is given' },
  async: {
    takes: flag,
    of: all,
    default: false,
    crewai: ['async_execution'],
    yaml: 'flag',
    does: 'in a sequential crew, what follows starts beside it',
  },
  when: {
    takes: func,
    of: all,
    crewai: ['condition'],
    yaml: { code: 'when: ({ outputs }) => …' },
    does: 'says from `{ inputs, outputs, previous, readFile }` whether the task is executed',
  },
  outputFile: {
    takes: outputFileCheck,
    of: written,
    yaml: 'text',
    does: 'where its output is written: `reports/{topic}.md`',
  },
  createDirectory: {
    takes: flag,
    of: written,
    default: true,
    yaml: 'flag',
    does: 'whether missing folders of `outputFile` are made',
  },
  callback: {
    takes: func,
    of: all,
    crewai: ['callbacks'],
    yaml: { code: 'callback: (output) => …' },
    does: 'called with its output when it was executed',
  },
  version: { takes: anyText, of: all, yaml: 'text', does: 'change it with code that Reprise cannot see' },
}

const lacks: { readonly [crewai: string]: Lack } = {
  input_files: { instead: 'give files as inputs' },
  prompt_context: {},
  allow_crewai_trigger_context: {},
  security_config: {},
  config: { instead: 'use loadTasks of reprise/yaml' },
}

type TaskTable = Table<All, Made, { readonly yaml: FromYaml }>

/** Each has the rows of its kind alone; those of a function or a crew say nothing of YAML, which has only tasks for agents. */
export const taskTables: { readonly [K in Kind]: TaskTable } = {
  agent: tableOf('agent'),
  run: tableOf('run', 'with run'),
  crew: tableOf('crew', 'with a crew'),
}

/** All options as they are kept; those that tasks of this kind do not have are as if they were left out. */
export function readTaskOptions(options: unknown): KeptOptions<All, Made> {
  const kind = isRecord(options) && 'crew' in options ? 'crew' : isRecord(options) && 'run' in options ? 'run' : 'agent'
  const defaults = Object.entries<Option>(taskRows).map(([key, row]) => [key, row.default])
  return { ...Object.fromEntries(defaults), ...readOptions(taskTables[kind], options) } as KeptOptions<All, Made>
}

function tableOf(kind: Kind, words?: string): TaskTable {
  const rows = Object.entries<Option & { readonly of: { readonly [kind: string]: 'may' | 'must' } }>(taskRows)
  const options = rows.flatMap(([key, row]) => {
    const has = own(row.of, kind)
    return has === undefined ? [] : [[key, { ...row, required: has === 'must' }]]
  })
  const named = words === undefined ? {} : { kind: words }
  return { object: 'task', called: 'name', ...named, options: Object.fromEntries(options) as never, lacks }
}
