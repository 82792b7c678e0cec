// A task: a description for an agent. Its name is its identity; its id is a UUID derived from that, equal in every process.
import type { CodeDefinition, Condition } from '../engine/definition.ts'
import { RepriseError } from '../errors.ts'
import { checkFlag, checkKeys, checkString, checkText, checkWhole, describe } from '../options.ts'
import {
  asAnswerSchema,
  type AnswerSchema,
  type InferInput,
  type InferOutput,
  type SchemaInput,
} from '../schema/answer-schema.ts'
import { toolList, type Tool, type Tools } from '../tools/tool.ts'
import { isAgent, type Agent } from './agent.ts'
import type { CallbackPlace } from './callbacks.ts'
import { fromCrew, isCrewTask, type ChildInputs, type ChildOf, type CrewTaskOptions } from './crew-task.ts'
import { fromCode, isCode, type CodeOutput, type CodeTaskOptions } from './code-task.ts'
import { guardrailList, type Guardrail } from './guardrails.ts'
import { checkName, derivedName, stableId } from './define/identity.ts'
import { checkTemplate } from './define/output-path.ts'
import type { Placeholders, Unknowable } from './define/placeholders.ts'
import type { OutputOfLast, TaskOutput, Tasks } from './result/result.ts'

export interface TaskOptions<
  Name extends string = string,
  Description extends string = string,
  Expected extends string = string,
  Who extends Agent = Agent,
  Schema extends SchemaInput = SchemaInput,
  File extends string = string,
> {
  /** The task's identity. Left out, it is derived from the texts, and changes with them. */
  readonly name?: Name
  readonly description: Description
  readonly expectedOutput?: Expected
  /** May be left out where the crew has one agent. */
  readonly agent?: Who
  /** Whose outputs it is given. Left out: all earlier tasks. An empty list: none. */
  readonly context?: readonly Task[]
  /** A Standard Schema that gives JSON Schema: the answer must fit it. */
  readonly output?: Schema
  /** Instead of the agent's tools. */
  readonly tools?: Tools
  /** How often an answer that is refused goes back to the model. Default 3. */
  readonly retries?: number
  /** What an answer must pass after its schema, in this order and before the agent's: functions, or sentences that a model judges by. */
  readonly guardrails?: Guardrail<OutputFor<Schema>> | readonly Guardrail<OutputFor<Schema>>[]
  /** A person approves the result, asks for changes, replaces or fails it. */
  readonly humanInput?: boolean
  /** In a sequential crew: what follows starts beside it, and waits only where it has it in its context (left out: all earlier). */
  readonly async?: boolean
  /** Whether the task is executed, decided when its turn comes; else it is recorded as skipped and gives nothing. Not on the first task. */
  readonly when?: Condition
  /** Where the output is written after the task's completion, below the working folder: `reports/{topic}.md`. At least once. */
  readonly outputFile?: File
  /** False: a folder of `outputFile` that is not there is an error. Default true. */
  readonly createDirectory?: boolean
  /** The model is asked for Markdown. */
  readonly markdown?: boolean
  /** Called when the task was executed, with its output. At least once: again after a crash before it returned. */
  readonly callback?: (output: TaskOutput<OutputFor<Schema>>, place: CallbackPlace) => unknown
  /** Change it when something changes that Reprise cannot see: what `when` does. */
  readonly version?: string
}

type OutputFor<Schema> = [Schema] extends [never] ? string : InferOutput<Schema>

/** A piece of work with an output of type `Output`, which is written as `Raw` before its schema's transforms. */
export interface Task<
  out Name extends string = string,
  out Output = unknown,
  out Inputs extends string = string,
  out Raw = unknown,
> {
  readonly name: Name
  /** Whether the name was given; one that was derived changes with the texts. */
  readonly named: boolean
  readonly id: string
  readonly description: string
  readonly expectedOutput: string | undefined
  readonly agent: Agent | undefined
  readonly context: readonly Task[] | undefined
  readonly schema: AnswerSchema | undefined
  readonly tools: readonly Tool[] | undefined
  readonly retries: number
  /** Of a task that is a function, or a crew. */
  readonly code: CodeDefinition | undefined
  readonly child: ChildOf | undefined
  readonly guardrails: readonly Guardrail<never>[]
  readonly humanInput: boolean
  readonly async: boolean
  readonly when: Condition | undefined
  readonly outputFile: string | undefined
  readonly createDirectory: boolean
  readonly markdown: boolean
  readonly callback: ((output: TaskOutput<never>, place: CallbackPlace) => unknown) | undefined
  readonly version: string | undefined
  /** Only types: nothing is there at run time. */
  readonly '~inputs'?: Inputs
  readonly '~output'?: Output
  readonly '~raw'?: Raw
}

export interface TaskConstructor {
  /** CREW_INVALID, SCHEMA_INVALID, OPTION_UNKNOWN: at once, naming what is wrong. */
  new <
    const Name extends string = string,
    const Description extends string = string,
    const Expected extends string = '',
    Who extends Agent = Agent<Unknowable>,
    Schema extends SchemaInput = never,
    const File extends string = '',
  >(
    options: TaskOptions<Name, Description, Expected, Who, Schema, File>,
  ): Task<
    Name,
    OutputFor<Schema>,
    Placeholders<Description> | Placeholders<Expected> | Placeholders<File> | InputsOf<Who>,
    [Schema] extends [never] ? string : InferInput<Schema>
  >
  // two, since the parameter of a function among them would not be typed by an inferred type
  new <const Name extends string, const T extends Tasks>(
    options: CrewTaskOptions<Name, T> & { readonly inputs: ChildInputs },
  ): Task<Name, OutputOfLast<T>, never, OutputOfLast<T>>
  new <const Name extends string, const T extends Tasks>(
    options: CrewTaskOptions<Name, T>,
  ): Task<Name, OutputOfLast<T>, InputsOf<T[number]>, OutputOfLast<T>>
  new <const Name extends string, Result, Schema extends SchemaInput = never>(
    options: CodeTaskOptions<Name, Result, Schema>,
    // a function may use any input
  ): Task<
    Name,
    CodeOutput<Result, Schema>,
    Unknowable,
    [Schema] extends [never] ? CodeOutput<Result, Schema> : InferInput<Schema>
  >
}

/**
 * The names of the placeholders that an agent or task uses. Without a constraint on what is inferred: where the user's compiler has no
 * `exactOptionalPropertyTypes`, none at all would be taken for any, and one task without a placeholder would leave the inputs of the
 * whole crew unchecked.
 */
export type InputsOf<T> = T extends { readonly '~inputs'?: infer Inputs } ? Extract<Inputs, string> : never

const keys = [
  'name',
  'description',
  'expectedOutput',
  'agent',
  'context',
  'output',
  'tools',
  'retries',
  'guardrails',
  'humanInput',
  'async',
  'when',
  'outputFile',
  'createDirectory',
  'markdown',
  'callback',
  'version',
]

export const Task: TaskConstructor = class {
  readonly name: never
  readonly named: boolean
  readonly id: string
  readonly description: string
  readonly expectedOutput: string | undefined
  readonly agent: Agent | undefined
  readonly context: readonly Task[] | undefined
  readonly schema: AnswerSchema | undefined
  readonly tools: readonly Tool[] | undefined
  readonly retries: number
  /** Of a task that is a function, or a crew. */
  readonly code: CodeDefinition | undefined
  readonly child: ChildOf | undefined
  readonly guardrails: readonly Guardrail<never>[]
  readonly humanInput: boolean
  readonly async: boolean
  readonly when: Condition | undefined
  readonly outputFile: string | undefined
  readonly createDirectory: boolean
  readonly markdown: boolean
  readonly callback: ((output: TaskOutput<never>, place: CallbackPlace) => unknown) | undefined
  readonly version: string | undefined

  constructor(options: TaskOptions | CodeTaskOptions | CrewTaskOptions) {
    const given = read(options)
    const { name, description, expectedOutput = '', agent } = given
    if (name !== undefined) checkName('a task', name)
    const whose = name === undefined ? 'a task' : `task ${name}`
    checkText('CREW_INVALID', `the description of ${whose}`, description)
    checkString('CREW_INVALID', `the expected output of ${whose}`, expectedOutput)
    this.named = name !== undefined
    this.id =
      name === undefined ? stableId('texts', description, expectedOutput, agent?.role ?? '') : stableId('name', name)
    this.name = (name ?? derivedName(description, this.id)) as never
    const what = `task ${this.name as string}`
    this.description = description
    this.expectedOutput = given.expectedOutput
    this.agent = checkAgent(what, agent)
    this.context = checkContext(what, given.context)
    this.schema = given.output === undefined ? undefined : asAnswerSchema(given.output, `the output of ${what}`)
    this.tools = given.tools === undefined ? undefined : toolList(given.tools, what)
    checkWhole(`retries of ${what}`, given.retries, 0)
    this.retries = given.retries ?? 3
    this.code = given.code
    this.child = given.child
    this.guardrails = guardrailList(what, given.guardrails)
    checkFlag(`humanInput of ${what}`, given.humanInput)
    checkFlag(`async of ${what}`, given.async)
    checkFlag(`createDirectory of ${what}`, given.createDirectory)
    checkFlag(`markdown of ${what}`, given.markdown)
    this.outputFile = checkTemplate(what, given.outputFile)
    this.createDirectory = given.createDirectory ?? true
    this.markdown = given.markdown ?? false
    this.humanInput = given.humanInput ?? false
    this.async = given.async ?? false
    for (const key of ['when', 'callback'] as const) {
      if (given[key] === undefined || typeof given[key] === 'function') continue
      throw new RepriseError('CREW_INVALID', `${key} of ${what} is ${describe(given[key])}; give a function`)
    }
    this.when = given.when
    this.callback = given.callback
    checkString('OPTION_UNKNOWN', `version of ${what}`, given.version)
    this.version = given.version
    Object.freeze(this)
  }
}

/** Whether it was made by `new Task`, also of another install of the package. */
export function isTask(value: unknown): value is Task {
  const candidate = value as Partial<Task> | null | undefined
  return typeof candidate?.id === 'string' && typeof candidate.name === 'string' && Array.isArray(candidate.guardrails)
}

type Read = TaskOptions & { readonly code: CodeDefinition | undefined; readonly child: ChildOf | undefined }

function read(options: TaskOptions | CodeTaskOptions | CrewTaskOptions): Read {
  if (isCrewTask(options)) return { ...fromCrew(options), code: undefined }
  if (isCode(options)) return { ...fromCode(options), child: undefined }
  checkKeys('a task', options, keys)
  return { ...options, code: undefined, child: undefined }
}

function checkAgent(what: string, agent: unknown): Agent | undefined {
  if (agent === undefined || isAgent(agent)) return agent
  throw new RepriseError(
    'CREW_INVALID',
    `the agent of ${what} is ${describe(agent)}; give an agent made with new Agent({ … })`,
  )
}

function checkContext(what: string, context: unknown): readonly Task[] | undefined {
  if (context === undefined) return undefined
  if (!Array.isArray(context))
    throw new RepriseError('CREW_INVALID', `the context of ${what} is ${describe(context)}; give a list of tasks`)
  for (const [index, item] of (context as readonly unknown[]).entries()) {
    if (isTask(item)) continue
    throw new RepriseError('CREW_INVALID', `context[${index}] of ${what} is ${describe(item)}; give the task itself`)
  }
  return context as readonly Task[]
}
