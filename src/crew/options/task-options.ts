// Options of the three types of tasks: agent tasks, function tasks and nested crews. Their checks are in task-table.ts.
import type { TaskView } from '../../runs/task-view.ts'
import type {
  AnyOutputs,
  CodeContext,
  Condition,
  CrewDefinition,
  Inputs,
  ConditionContext,
} from '../../engine/definition.ts'
import type { Json } from '../../journal/json.ts'
import type { InferOutput, SchemaInput } from '../../schema/answer-schema.ts'
import type { Effect, Settlement, Tools } from '../../tools/tool.ts'
import type { Agent } from '../agent.ts'
import type { CallbackContext } from '../callbacks.ts'
import type { Crew } from '../crew.ts'
import type { Overrides } from '../define/define-tasks.ts'
import type { Guardrail } from '../guardrails.ts'
import type { OutputsOf, Tasks } from '../result/result.ts'
import type { InputValue } from '../arguments/run-inputs.ts'

/** Options of a task that is executed once per item of a list. `Item` is the type of an item. */
export interface ForEachOptions<Context extends Tasks, Item, Given = Inputs> {
  /**
   * Called when it is the task's turn: returns a list, for whose items the task is executed. Its output is the list of
   * their outputs. Texts of the task can use `{item}` and members of it, such as `{item.title}`.
   */
  readonly forEach?: (
    context: ConditionContext<OutputsOf<Context> & AnyOutputs, Given>,
  ) => readonly Item[] | Promise<readonly Item[]>
  /**
   * Returns what identifies an item, such as its id: a text or a number. An item is found again by its key, so an index
   * is no key. Default: the item itself, if it is a text or a number.
   */
  readonly key?: (item: Item) => string | number
}

/** What the functions of a task with `forEach` receive besides their context. */
export type ItemOf<Item> = [Item] extends [never] ? unknown : { readonly item: Item }

/** The functions of a task with `forEach`. */
export interface ForEachFunctions {
  readonly list: (context: ConditionContext) => unknown
  readonly key: ((item: unknown) => unknown) | undefined
}

export interface TaskOptions<
  Schema extends SchemaInput = SchemaInput,
  Context extends Tasks = Tasks,
  Item = never,
> extends ForEachOptions<Context, Item> {
  /** Identity of the task. Default: derived from the texts, so that changed texts make it a different task. */
  readonly name?: string
  /** Earlier name or names of the task. An unfinished run continues what it recorded under one of them. */
  readonly was?: string | readonly string[]
  /** What to do. `{name}` stands for an input. */
  readonly description: string
  /** What the result should look like. */
  readonly expectedOutput?: string
  /** The agent that executes the task. Default: the only agent of the crew, if it has exactly one. */
  readonly agent?: Agent
  /** Earlier tasks whose outputs the task receives. An empty list means none. Default: all earlier tasks. */
  readonly context?: Context
  /**
   * A Standard Schema with JSON Schema output, such as a zod schema. The answer must fit it. Default: the output is a
   * string.
   */
  readonly output?: Schema
  /** Tools that replace the tools of the agent. Default: the tools of the agent. */
  readonly tools?: Tools
  /** How often a rejected answer is returned to the model before the task fails. Default: 3. */
  readonly retries?: number
  /**
   * Guardrails that an answer must pass, in this order, after its schema and before the guardrails of the agent:
   * functions, or sentences that a model checks it against. Default: none.
   */
  readonly guardrails?: Guardrail<OutputFor<Schema>> | readonly Guardrail<OutputFor<Schema>>[]
  /**
   * Whether a person reviews the result, and approves it, asks for changes, replaces it or fails the task. Default:
   * false.
   */
  readonly humanInput?: boolean
  /**
   * In a sequential crew, lets later tasks start while this one executes. Only a task with this one in its context
   * waits for it; a task without `context` has all earlier tasks in its context. Default: false.
   */
  readonly async?: boolean
  /** Called when it is the task's turn: decides whether the task is executed. A skipped task has no output. */
  readonly when?: Condition<OutputsOf<Context> & AnyOutputs>
  /**
   * File to which the output is written after the task completes, inside the working folder: `reports/{topic}.md`. At
   * least once: it is written again if the process crashes before the journal records the write.
   */
  readonly outputFile?: string
  /** Whether to create missing folders of `outputFile`. If false, a missing folder is an error. Default: true. */
  readonly createDirectory?: boolean
  /** Whether to ask the model for Markdown. Default: false. */
  readonly markdown?: boolean
  /**
   * Called with the output after the task was executed. At least once: it is called again if the process crashes before
   * its return is recorded.
   */
  readonly callback?: (output: TaskView<OutputFor<Schema>>, context: CallbackContext) => unknown
  /**
   * Change it to make the outputs of the task stale, after a change that Reprise cannot see, such as in the code of
   * `when`.
   */
  readonly version?: string
}

export type OutputFor<Schema> = [Schema] extends [never] ? string : InferOutput<Schema>

/**
 * A function task: fetches, saves or computes something. It is journaled, fingerprinted and replayed like any other
 * task.
 */
export interface CodeTaskOptions<
  Result = unknown,
  Schema extends SchemaInput = SchemaInput,
  Context extends Tasks = Tasks,
  Given extends object = Inputs,
  Item = never,
> extends ForEachOptions<Context, Item, Given> {
  /** Identity of the task. */
  readonly name: string
  /** Earlier name or names of the task. An unfinished run continues what it recorded under one of them. */
  readonly was?: string | readonly string[]
  readonly description?: string
  /**
   * The function. `outputs` has the outputs of the tasks in `context`, and `item` the item of `forEach`. The input
   * schema of the crew can give `inputs` a type: see `CodeContext`.
   */
  readonly run: (context: CodeContext<OutputsOf<Context>, Given> & ItemOf<Item>) => Result
  /**
   * What repeating the function means, as for tools. `read`: harmless. `idempotent`: harmless with the same idempotency
   * key. `once`: never repeated automatically. Default: `once`.
   */
  readonly effect?: Effect
  /**
   * Finds out whether an interrupted `once` function did its work. `undefined` means that this is unknown: a person is
   * asked.
   */
  readonly settle?: (idempotencyKey: string) => Settlement | undefined | Promise<Settlement | undefined>
  /** Time limit in seconds. When it is exceeded, the task fails. Default: no limit. */
  readonly maxSeconds?: number
  /**
   * Whether a person reviews the result, and approves it, asks for another one, replaces it or fails the task. Default:
   * false.
   */
  readonly humanInput?: boolean
  readonly output?: Schema
  readonly context?: Context
  readonly async?: boolean
  readonly when?: Condition<OutputsOf<Context> & AnyOutputs, Given>
  /**
   * File to which the output is written after the task completes, inside the working folder: `reports/{topic}.md`. At
   * least once: it is written again if the process crashes before the journal records the write.
   */
  readonly outputFile?: string
  /** Whether to create missing folders of `outputFile`. If false, a missing folder is an error. Default: true. */
  readonly createDirectory?: boolean
  readonly callback?: (output: TaskView<CodeOutput<Result, Schema>>, context: CallbackContext) => unknown
  /** Change it together with the function, to make the outputs of the task stale: Reprise cannot see code. */
  readonly version?: string
}

/** Output of a function task. It is stored as JSON, so that a resumed run sees the same value as a live one. */
export type CodeOutput<Result, Schema> = [Schema] extends [never]
  ? Awaited<Result> extends Json
    ? Awaited<Result>
    : unknown
  : InferOutput<Schema>

/** A nested crew, which is executed in a child run. The output of its last task is the output of this task. */
export interface CrewTaskOptions<
  Output = unknown,
  Schema extends SchemaInput = SchemaInput,
  Context extends Tasks = Tasks,
  Item = never,
> extends ForEachOptions<Context, Item> {
  /** Identity of the task. */
  readonly name: string
  /** Earlier name or names of the task. An unfinished run continues what it recorded under one of them. */
  readonly was?: string | readonly string[]
  readonly description?: string
  /** The crew to execute. */
  readonly crew: Crew
  /**
   * Inputs of the child run: an object, or a function of the inputs and outputs of this run so far, and of the `item`
   * of `forEach`. Default: the inputs of this run, with the item as `item`.
   */
  readonly inputs?: ChildInputs<OutputsOf<Context>, Item>
  /** Schema that parses the stored output of the last task of the crew. Default: the schema of that task. */
  readonly output?: Schema
  readonly context?: Context
  readonly async?: boolean
  readonly when?: Condition<OutputsOf<Context> & AnyOutputs>
  readonly callback?: (output: TaskView<CrewOutput<Output, Schema>>, context: CallbackContext) => unknown
  readonly version?: string
}

/** Output of a nested crew. `Output` is the output of its last task. */
export type CrewOutput<Output, Schema> = [Schema] extends [never] ? Output : InferOutput<Schema>

export type ChildInputs<Of = AnyOutputs, Item = never> =
  | { readonly [name: string]: InputValue }
  | ((
      context: ConditionContext<Of> & ItemOf<Item>,
    ) => { readonly [name: string]: InputValue } | Promise<{ readonly [name: string]: InputValue }>)

/** A nested crew, as the engine needs it. */
export interface ChildOf {
  readonly crew: { '~definition'(overrides: Overrides): CrewDefinition }
  readonly inputs:
    | { readonly [name: string]: Json }
    | ((context: ConditionContext) => Inputs | Promise<Inputs>)
    | undefined
}
