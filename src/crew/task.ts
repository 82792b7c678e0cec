// The Task class: work for an agent, for a function, or for a nested crew. A task is identified by its name; its id is
// a UUID derived from the name, and thus the same in every process.
import type { TaskView } from '../runs/task-view.ts'
import type { FunctionDefinition, CodeContext, Condition, Inputs as AnyInputs } from '../engine/definition.ts'
import type { AnswerSchema, InferInput, ObjectSchema, SchemaInput } from '../schema/answer-schema.ts'
import type { Tool } from '../tools/tool.ts'
import type { Agent } from './agent.ts'
import type { Crew } from './crew.ts'
import type { CallbackContext } from './callbacks.ts'
import type { Placeholders, Unknowable } from './define/define-agent.ts'
import type { InputsBy } from './arguments/run-inputs.ts'
import type { Guardrail } from './guardrails.ts'
import { RepriseError } from '../base/errors.ts'
import { describe } from '../base/options.ts'
import type {
  ChildOf,
  CodeOutput,
  CodeTaskOptions,
  CrewOutput,
  CrewTaskOptions,
  ForEachFunctions,
  ForEachOptions,
  ChildInputs,
  ItemOf,
  OutputFor,
  TaskOptions,
} from './options/task-options.ts'
import { readTaskOptions } from './options/task-table.ts'
import type { OutputOfLast, OutputsOf, Tasks } from './result/result.ts'
import { createHash } from 'node:crypto'

/** A task of a crew. `Output` is the type of its output, and `Raw` that type before the transforms of the schema. */
export interface Task<
  out Name extends string = string,
  out Output = unknown,
  out Inputs extends InputsBy = string | object,
  out Raw = unknown,
> {
  readonly name: Name
  /** False if the name is derived from the texts, and changes with them. */
  readonly named: boolean
  /** Earlier names of the task. */
  readonly was: readonly string[]
  readonly id: string
  readonly description: string
  readonly expectedOutput: string | undefined
  readonly agent: Agent | undefined
  readonly context: readonly Task[] | undefined
  readonly schema: AnswerSchema | undefined
  readonly tools: readonly Tool[] | undefined
  readonly retries: number
  /** The function, for a function task. */
  readonly code: FunctionDefinition | undefined
  /** The crew and its inputs, for a nested crew. */
  readonly child: ChildOf | undefined
  readonly guardrails: readonly Guardrail<never>[]
  readonly humanInput: boolean
  readonly async: boolean
  readonly when: Condition | undefined
  readonly outputFile: string | undefined
  readonly createDirectory: boolean
  readonly markdown: boolean
  readonly callback: ((output: TaskView<never>, context: CallbackContext) => unknown) | undefined
  readonly version: string | undefined
  /** The functions of a task that is executed once per item of a list. */
  readonly forEach: ForEachFunctions | undefined
  /** Type information only; undefined at run time. */
  readonly '~inputs'?: Inputs
  readonly '~output'?: () => Output
  readonly '~raw'?: Raw
}

export interface TaskConstructor {
  /**
   * Creates a task. Throws CREW_INVALID, OPTION_INVALID, OPTION_UNKNOWN or SCHEMA_INVALID; the message names the option
   * and its valid values.
   */
  new <
    const Given extends string,
    const Name extends string = string,
    const Description extends string = string,
    const Expected extends string = '',
    const File extends string = '',
    Who extends Agent = Agent<Unknowable>,
    Schema extends SchemaInput = never,
    const Context extends Tasks = Tasks,
    Result = unknown,
    const T extends Tasks = Tasks,
    Typed extends object = AnyInputs,
    Item = never,
  >(
    options: ItemFunctions<Context, Typed, Item> &
      OptionsByKind<
        Given,
        Literals<Name, Description, Expected, File, Who, T>,
        TaskOptions<Schema, Context, Item>,
        FunctionTask<Result, Schema, Context, Typed, Item>,
        NestedTask<OutputOfLast<T>, Schema, Context, Item>
      >,
  ): 'crew' extends Given
    ? Task<
        Name,
        Skippable<Given, Listed<Item, CrewOutput<OutputOfLast<T>, Schema>>>,
        'inputs' extends Given ? never : Exclude<InputsOf<T[number]>, ItemName<Item>>,
        Listed<Item, RawOf<Schema, OutputOfLast<T>>>
      >
    : 'run' extends Given
      ? Task<
          Name,
          Skippable<Given, Listed<Item, CodeOutput<Result, Schema>>>,
          FunctionInputs<Typed>,
          Listed<Item, RawOf<Schema, CodeOutput<Result, Schema>>>
        >
      : Task<
          Name,
          Skippable<Given, Listed<Item, OutputFor<Schema>>>,
          | Exclude<Placeholders<Description> | Placeholders<Expected> | Placeholders<File>, ItemName<Item>>
          | InputsOf<Who>,
          Listed<Item, RawOf<Schema, string>>
        >
}

/**
 * Selects the options of one task type by the names of the given options, so that a compiler error mentions only that
 * type; with overloads, it would mention the last one. The first two branches are never taken. They guide inference:
 * the first one infers texts as literal types, the second one infers the option names before the compiler checks the
 * options of a function task.
 */
type OptionsByKind<Given extends string, Inferred, ForAgent, Code, OfCrew> = string extends Given
  ? ForAgent & Inferred
  : 'never given' extends Given
    ? { readonly [Option in Given]: unknown }
    : 'crew' extends Given
      ? OfCrew
      : 'inputs' extends Given
        ? { readonly inputs: 'an option of tasks with a crew' }
        : 'run' extends Given
          ? Code
          : ForAgent

/**
 * Functions that receive the item of a task with `forEach`. They are not in the options by kind: while these are not
 * selected yet, the compiler infers nothing from the return type of `forEach`.
 */
interface ItemFunctions<Context extends Tasks, Known, Item> extends ForEachOptions<Context, Item> {
  readonly run?: (context: CodeContext<OutputsOf<Context>, Known> & ItemOf<Item>) => unknown
  readonly inputs?: ChildInputs<OutputsOf<Context>, Item>
}

interface FunctionTask<
  Result,
  Schema extends SchemaInput,
  Context extends Tasks,
  Known extends object,
  Item,
> extends Omit<CodeTaskOptions<Result, Schema, Context, Known, Item>, 'run'> {
  readonly run: (context: never) => Result
}

interface NestedTask<Output, Schema extends SchemaInput, Context extends Tasks, Item> extends Omit<
  CrewTaskOptions<Output, Schema, Context, Item>,
  'inputs'
> {}

/**
 * Properties from which literal types are inferred. They are not part of the options: otherwise every compiler error
 * would repeat the texts of the task.
 */
interface Literals<Name, Description, Expected, File, Who, T extends Tasks> {
  readonly name?: Name
  readonly description?: Description
  readonly expectedOutput?: Expected
  readonly outputFile?: File
  readonly agent?: Who
  readonly crew?: Crew<T>
}

/**
 * A function with untyped inputs may use any input. Written as an indexed access, from which the compiler infers
 * nothing.
 */
type FunctionInputs<Own> = { readonly any: Unknowable; readonly own: Own }[AnyInputs extends Own ? 'any' : 'own']

/** The output of a task with `forEach` is a list. An item without an output, such as a skipped crew, is not in it. */
type Listed<Item, Output> = [Item] extends [never] ? Output : readonly Exclude<Output, undefined>[]

/** The placeholder in the texts of a task with `forEach` that stands for the item. */
type ItemName<Item> = [Item] extends [never] ? never : 'item'

/** The output of a task with a condition may be undefined. */
type Skippable<Given extends string, Output> = 'when' extends Given ? Output | undefined : Output

/** The type before the transforms of the schema. */
export type RawOf<Schema, Otherwise> = [Schema] extends [never] ? Otherwise : InferInput<Schema>

/**
 * Placeholder names in the texts of an agent or task. The inferred type has no constraint: without
 * `exactOptionalPropertyTypes`, `never` would be inferred as `string`, and one task without placeholders would leave
 * the inputs of the whole crew unchecked.
 */
export type InputsOf<T> = T extends { readonly '~inputs'?: infer Inputs } ? Extract<Inputs, string> : never

/** The input types of the function tasks, all of which the schema of the crew must produce. */
export type TypedBy<T extends Tasks> = [Typed<T[number]>] extends [never]
  ? unknown
  : { readonly inputs: ObjectSchema<object, Intersection<Typed<T[number]>>> }

type Typed<T> = T extends { readonly '~inputs'?: infer Inputs }
  ? Inputs extends object
    ? object extends Inputs
      ? never
      : Inputs
    : never
  : never

type Intersection<Types> = (Types extends unknown ? (type: Types) => void : never) extends (all: infer All) => void
  ? All & object
  : never

type AnyTaskOptions =
  | TaskOptions<SchemaInput, Tasks, unknown>
  | CodeTaskOptions<unknown, SchemaInput, Tasks, AnyInputs, unknown>
  | CrewTaskOptions<unknown, SchemaInput, Tasks, unknown>

// oxlint-disable-next-line no-extraneous-class -- Object.assign adds the members
export const Task: TaskConstructor = class {
  constructor(options: AnyTaskOptions) {
    const { output, run, effect, settle, maxSeconds, crew, inputs, forEach, key, ...common } = readTaskOptions(options)
    if (key && !forEach) throw new RepriseError('OPTION_INVALID', `key of task ${describe(common.name)} needs forEach`)
    const { name, expectedOutput = '', agent } = common
    const defaultDescription = run ? `the function of task ${name}` : `the crew ${crew?.name}`
    const description = common.description ?? defaultDescription
    const texts = ['texts', description, expectedOutput, agent?.role ?? '']
    const id = name === undefined ? stableId(...texts) : stableId('name', name)
    const members: Omit<Task, '~inputs' | '~output' | '~raw'> = {
      ...common,
      name: name ?? derivedName(description, id),
      named: name !== undefined,
      id,
      description,
      schema: output,
      code: run && {
        effect,
        versioned: common.version !== undefined,
        settle,
        maxSeconds,
        run: (context: CodeContext): unknown => run(context),
      },
      child: crew && ({ crew, inputs } as ChildOf),
      forEach: forEach && { list: forEach, key: key as ForEachFunctions['key'] },
    }
    Object.assign(this, members)
    Object.freeze(this)
  }
} as TaskConstructor

/** Derives a UUID, version 8 (custom), from strings. */
export function stableId(...parts: readonly string[]): string {
  const bytes = createHash('sha256').update(JSON.stringify(parts)).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** Derives the name of an unnamed task: the first words of its description, and the start of its id. */
function derivedName(description: string, id: string): string {
  const words = description.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  const taken: string[] = []
  for (const word of words)
    if ([...taken, word].join('-').length <= 32) taken.push(word)
    else break
  return `${taken.join('-') || 'task'}-${id.slice(0, 4)}`
}
