// Options of the three types of tasks: agent tasks, function tasks and nested crews. The table of all options is in
// task-table.ts.
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

export interface TaskOptions<Schema extends SchemaInput = SchemaInput, Context extends Tasks = Tasks> {
  /** Identity of the task. Default: derived from the texts, so that the task becomes another one when they change. */
  readonly name?: string
  /** Its earlier name or names: an unfinished run continues what it recorded under one of them. */
  readonly was?: string | readonly string[]
  /** What to do. `{name}` stands for an input. */
  readonly description: string
  /** What the result should look like. */
  readonly expectedOutput?: string
  /** The agent that executes the task. Default: the crew's agent, if it has exactly one. */
  readonly agent?: Agent
  /** Earlier tasks whose outputs the task receives. Default: all of them. An empty list: none. */
  readonly context?: Context
  /**
   * A Standard Schema with JSON Schema output, such as zod's. The answer must fit it. Default: the output is a text.
   */
  readonly output?: Schema
  /** Tools that replace the agent's. Default: the agent's tools. */
  readonly tools?: Tools
  /** How often a rejected answer goes back to the model before the task fails. Default: 3. */
  readonly retries?: number
  /**
   * Guardrails that an answer must pass, in this order, after its schema and before the agent's guardrails: functions,
   * or sentences that a model judges by. Default: none.
   */
  readonly guardrails?: Guardrail<OutputFor<Schema>> | readonly Guardrail<OutputFor<Schema>>[]
  /**
   * Whether a person reviews the result: approves it, asks for changes, replaces it, or fails the task. Default: false.
   */
  readonly humanInput?: boolean
  /**
   * In a sequential crew, later tasks start while this one executes. A task waits for it only if it has it in its
   * context, as every task without a `context` does. Default: false.
   */
  readonly async?: boolean
  /** Decides, when the task's turn comes, whether it is executed. A skipped task has no output. */
  readonly when?: Condition<OutputsOf<Context> & AnyOutputs>
  /**
   * Where the output is written after the task's completion, below the working folder: `reports/{topic}.md`. At least
   * once.
   */
  readonly outputFile?: string
  /** False: a folder of `outputFile` that is not there is an error. Default true. */
  readonly createDirectory?: boolean
  /** Ask the model for Markdown. Default: false. */
  readonly markdown?: boolean
  /** Called with the output after the task was executed. At least once: again if a crash came before it returned. */
  readonly callback?: (output: TaskView<OutputFor<Schema>>, context: CallbackContext) => unknown
  /** Change the version to make outputs stale when code changes that Reprise can't see, such as `when`. */
  readonly version?: string
}

export type OutputFor<Schema> = [Schema] extends [never] ? string : InferOutput<Schema>

/** A function task: fetches, saves, computes. Journaled, fingerprinted and replayed like any other task. */
export interface CodeTaskOptions<
  Result = unknown,
  Schema extends SchemaInput = SchemaInput,
  Context extends Tasks = Tasks,
  Given extends object = Inputs,
> {
  /** The task's identity. */
  readonly name: string
  /** Its earlier name or names: an unfinished run continues what it recorded under one of them. */
  readonly was?: string | readonly string[]
  readonly description?: string
  /**
   * The function. `outputs` holds the outputs of `context`; `inputs` can be typed by the crew's input schema: see
   * `CodeContext`.
   */
  readonly run: (context: CodeContext<OutputsOf<Context>, Given>) => Result
  /**
   * What repeating the function means, as for tools: `read`, `idempotent`, or `once`, which is never repeated
   * automatically. Default: `once`.
   */
  readonly effect?: Effect
  /** Finds out whether an interrupted `once` function did its work. `undefined`: can't tell, ask a person. */
  readonly settle?: (idempotencyKey: string) => Settlement | undefined | Promise<Settlement | undefined>
  /** Time limit in seconds. Past it, the task fails. Default: no limit. */
  readonly maxSeconds?: number
  /**
   * Whether a person reviews the result: approves it, asks for another one, replaces it, or fails the task. Default:
   * false.
   */
  readonly humanInput?: boolean
  readonly output?: Schema
  readonly context?: Context
  readonly async?: boolean
  readonly when?: Condition<OutputsOf<Context> & AnyOutputs, Given>
  /**
   * Where the output is written after the task's completion, below the working folder: `reports/{topic}.md`. At least
   * once.
   */
  readonly outputFile?: string
  /** False: a folder of `outputFile` that is not there is an error. Default true. */
  readonly createDirectory?: boolean
  readonly callback?: (output: TaskView<CodeOutput<Result, Schema>>, context: CallbackContext) => unknown
  /** Change the version when the function changes, to make outputs stale: Reprise can't see code. */
  readonly version?: string
}

/** A result is stored as JSON, so that a resumed run sees the same value as a live one. */
export type CodeOutput<Result, Schema> = [Schema] extends [never]
  ? Awaited<Result> extends Json
    ? Awaited<Result>
    : unknown
  : InferOutput<Schema>

/** A nested crew: executed in a child run, whose last output is the task's output. */
export interface CrewTaskOptions<
  Output = unknown,
  Schema extends SchemaInput = SchemaInput,
  Context extends Tasks = Tasks,
> {
  /** The task's identity. */
  readonly name: string
  /** Its earlier name or names: an unfinished run continues what it recorded under one of them. */
  readonly was?: string | readonly string[]
  readonly description?: string
  /** The crew to execute. */
  readonly crew: Crew
  /**
   * Inputs of the child run: an object, or a function of the inputs and outputs so far. Default: the inputs of this
   * run.
   */
  readonly inputs?: ChildInputs<OutputsOf<Context>>
  /** Schema for the stored output of the crew's last task. Default: the schema of that task. */
  readonly output?: Schema
  readonly context?: Context
  readonly async?: boolean
  readonly when?: Condition<OutputsOf<Context> & AnyOutputs>
  readonly callback?: (output: TaskView<CrewOutput<Output, Schema>>, context: CallbackContext) => unknown
  readonly version?: string
}

/** `Output` is the output of the crew's last task. */
export type CrewOutput<Output, Schema> = [Schema] extends [never] ? Output : InferOutput<Schema>

export type ChildInputs<Of = AnyOutputs> =
  | { readonly [name: string]: InputValue }
  | ((
      context: ConditionContext<Of>,
    ) => { readonly [name: string]: InputValue } | Promise<{ readonly [name: string]: InputValue }>)

/** A nested crew, as the engine needs it. */
export interface ChildOf {
  readonly crew: { '~definition'(overrides: Overrides): CrewDefinition }
  readonly inputs:
    | { readonly [name: string]: Json }
    | ((context: ConditionContext) => Inputs | Promise<Inputs>)
    | undefined
}
