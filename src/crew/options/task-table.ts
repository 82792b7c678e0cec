// All task options in one table, and a table derived from it for each of the three types of tasks. Each row names the
// types that have the option; the compiler checks that the rows and the interfaces agree.
import {
  anyText,
  check,
  flag,
  func,
  oneOrMore,
  seconds,
  text,
  whole,
  type Check,
  isRecord,
  missingFeatures,
  ownMember,
  readOptions,
  type OptionNames,
  type WithDefault,
  type OptionValues,
  type Option,
  type Table,
} from '../../base/options.ts'
import { effectCheck } from '../../tools/tool-options.ts'
import { outputFileCheck } from '../define/output-path.ts'
import { guardrailsCheck } from '../guardrails.ts'
import { agentCheck, nameCheck, none, schemaCheck, tasksCheck, toolsCheck, type FromYaml } from './crew-checks.ts'
import type { AnswerSchema } from '../../schema/answer-schema.ts'
import type { Task } from '../task.ts'
import type { CodeTaskOptions, CrewTaskOptions, TaskOptions } from './task-options.ts'

const all = { agent: 'may', run: 'may', crew: 'may' } as const
const forAgent = { agent: 'may' } as const
const forRun = { run: 'may' } as const
const forAgentAndRun = { agent: 'may', run: 'may' } as const

const crewCheck: Check<never> = check(
  'a crew made with new Crew({ … })',
  (value) => typeof value === 'object' && value !== null && '~definition' in value,
)
const inputsCheck: Check<never> = check(
  'an object, or a function of `{ inputs, outputs }`',
  (value) => typeof value === 'function' || isRecord(value),
)

export const taskRows: TaskRows = {
  name: {
    takes: nameCheck,
    of: { agent: 'may', run: 'must', crew: 'must' },
    leftOut: 'derived from the texts; changes with them',
    yaml: 'key',
    does: 'identity of the task',
  },
  forEach: {
    takes: func,
    of: all,
    yaml: { code: 'forEach: ({ outputs }) => …' },
    does: 'returns the list for whose items the task is executed, from `{ inputs, outputs, previous, missing, readFile }`; its output is the list of their outputs',
  },
  key: {
    takes: func,
    of: all,
    leftOut: 'the item itself, if it is a text or a number',
    yaml: { code: 'key: (item) => …' },
    does: 'returns what identifies an item of `forEach`, a text or a number: its id, not its position',
  },
  was: {
    takes: oneOrMore(nameCheck),
    of: all,
    default: none,
    yaml: 'sentences',
    does: 'earlier names: an unfinished run continues what it recorded under one of them',
  },
  description: { takes: text, of: { agent: 'must', run: 'may', crew: 'may' }, yaml: 'text', does: 'what to do' },
  expectedOutput: {
    takes: anyText,
    of: forAgent,
    crewai: ['expected_output'],
    yaml: 'text',
    does: 'what the result should look like',
  },
  agent: {
    takes: agentCheck,
    of: forAgent,
    leftOut: 'the only agent of the crew, if it has exactly one',
    yaml: 'agent',
    does: 'the agent that executes the task',
  },
  context: {
    takes: tasksCheck,
    of: all,
    leftOut: 'all earlier tasks',
    yaml: 'context',
    does: 'earlier tasks whose outputs the task receives; an empty list means none',
  },
  output: {
    takes: schemaCheck,
    of: all,
    leftOut: 'the output is a string; for a nested crew, the schema of its last task',
    crewai: ['output_pydantic', 'output_json', 'response_model', 'converter_cls'],
    yaml: { code: 'output: z.object({ … })' },
    does: 'schema of the output',
  },
  tools: {
    takes: toolsCheck,
    of: forAgent,
    leftOut: 'the tools of the agent',
    yaml: 'tools',
    does: 'tools that replace the tools of the agent',
  },
  guardrails: {
    takes: guardrailsCheck,
    of: forAgent,
    default: none,
    crewai: ['guardrail'],
    yaml: 'sentences',
    does: 'guardrails that an answer must pass, after its schema: functions, or sentences that a model checks it against',
  },
  retries: {
    takes: whole(0),
    of: forAgent,
    default: 3,
    crewai: ['guardrail_max_retries', 'max_retries'],
    yaml: 'number',
    does: 'how often a rejected answer is returned to the model before the task fails',
  },
  humanInput: {
    takes: flag,
    of: forAgentAndRun,
    default: false,
    crewai: ['human_input'],
    yaml: 'flag',
    does: 'whether a person reviews the result',
  },
  markdown: { takes: flag, of: forAgent, default: false, yaml: 'flag', does: 'whether to ask the model for Markdown' },
  run: {
    takes: func,
    of: { run: 'must' },
    does: 'the function, called with `{ inputs, outputs, feedback, idempotencyKey, signal, runId, task, readFile }`',
  },
  effect: { takes: effectCheck, of: forRun, default: 'once', does: 'what repeating the function means, as for tools' },
  settle: { takes: func, of: forRun, does: 'finds out whether an interrupted `once` function did its work' },
  maxSeconds: { takes: seconds, of: forRun, leftOut: 'no limit', does: 'time limit for the function, in seconds' },
  crew: { takes: crewCheck, of: { crew: 'must' }, does: 'the crew to execute, in a child run' },
  inputs: {
    takes: inputsCheck,
    of: { crew: 'may' },
    leftOut: 'the inputs of this run',
    does: 'inputs of the child run',
  },
  async: {
    takes: flag,
    of: all,
    default: false,
    crewai: ['async_execution'],
    yaml: 'flag',
    does: 'in a sequential crew, lets later tasks start while this one executes',
  },
  when: {
    takes: func,
    of: all,
    crewai: ['condition'],
    yaml: { code: 'when: ({ outputs }) => …' },
    does: 'decides from `{ inputs, outputs, previous, readFile }` whether the task is executed',
  },
  outputFile: {
    takes: outputFileCheck,
    of: forAgentAndRun,
    crewai: ['output_file'],
    yaml: 'text',
    does: 'file to which the output is written: `reports/{topic}.md`',
  },
  createDirectory: {
    takes: flag,
    of: forAgentAndRun,
    default: true,
    crewai: ['create_directory'],
    yaml: 'flag',
    does: 'whether to create missing folders of `outputFile`',
  },
  callback: {
    takes: func,
    of: all,
    crewai: ['callbacks'],
    yaml: { code: 'callback: (output) => …' },
    does: 'called with the output after the task was executed',
  },
  version: {
    takes: anyText,
    of: all,
    yaml: 'text',
    does: 'change it to make the outputs of the task stale, after a change that Reprise cannot see',
  },
}

const taskLacks: OptionNames['lacks'] = {
  ...missingFeatures('prompt_context', 'allow_crewai_trigger_context', 'security_config'),
  input_files: { instead: 'give files as inputs' },
  type: { without: 'the options decide the type of a task: for a conditional task, give when in the code' },
  config: { instead: 'use loadTasks of reprise/yaml' },
}

interface Kinds {
  readonly agent: TaskOptions
  readonly run: CodeTaskOptions
  readonly crew: CrewTaskOptions
}
type Kind = keyof Kinds
type AllTaskOptions = Partial<TaskOptions & CodeTaskOptions & CrewTaskOptions>
/** The options of a task after checks and defaults. */
type TaskSettings = Omit<Task, 'name' | 'description' | 'forEach'> & {
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
 * One table per task type. Rows of function tasks and nested crews have no YAML form: a file can only declare agent
 * tasks.
 */
export const taskTables: { readonly [K in Kind]: TaskTable } = {
  agent: tableOf('agent'),
  run: tableOf('run', 'with run'),
  crew: tableOf('crew', 'with a crew'),
}

/** Checks the options of a task, and fills in defaults, also for the options that its type does not have. */
export function readTaskOptions(options: unknown): OptionValues<AllTaskOptions, TaskSettings> {
  const kind = isRecord(options) && 'crew' in options ? 'crew' : isRecord(options) && 'run' in options ? 'run' : 'agent'
  const defaults = Object.entries<Option>(taskRows).map(([key, row]) => [key, row.default])
  return { ...Object.fromEntries(defaults), ...readOptions(taskTables[kind], options) } as OptionValues<
    AllTaskOptions,
    TaskSettings
  >
}

function tableOf(kind: Kind, label?: string): TaskTable {
  const rows = Object.entries<Option & { readonly of: { readonly [kind: string]: 'may' | 'must' } }>(taskRows)
  const options = rows.flatMap(([key, row]) => {
    const requirement = ownMember(row.of, kind)
    return requirement === undefined ? [] : [[key, { ...row, required: requirement === 'must' }]]
  })
  const labelled = label === undefined ? {} : { kind: label }
  return {
    object: 'task',
    called: 'name',
    ...labelled,
    options: Object.fromEntries(options) as never,
    lacks: taskLacks,
  }
}
