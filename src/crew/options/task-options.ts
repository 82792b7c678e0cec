// What a task may be told: one for an agent, one that is a function, and one that is a crew. task-table.ts has the
// table of it.
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
import type { OutputsOf, TaskOutput, Tasks } from '../result/result.ts'
import type { InputValue } from '../arguments/inputs.ts'

export interface TaskOptions<Schema extends SchemaInput = SchemaInput, Context extends Tasks = Tasks> {
  /** The task's identity. Left out, it is derived from the texts, and changes with them. */
  readonly name?: string
  /** Its earlier name or names: an unfinished run continues what it recorded under one of them. */
  readonly was?: string | readonly string[]
  readonly description: string
  readonly expectedOutput?: string
  /** May be left out where the crew has one agent. */
  readonly agent?: Agent
  /** Whose outputs it is given. Left out: all earlier tasks. An empty list: none. */
  readonly context?: Context
  /** A Standard Schema that gives JSON Schema: the answer must fit it. */
  readonly output?: Schema
  /** Instead of the agent's tools. */
  readonly tools?: Tools
  /** How often an answer that is refused goes back to the model. Default 3. */
  readonly retries?: number
  /**
   * What an answer must pass after its schema, in this order and before the agent's: functions, or sentences that a
   * model judges by.
   */
  readonly guardrails?: Guardrail<OutputFor<Schema>> | readonly Guardrail<OutputFor<Schema>>[]
  /** A person approves the result, asks for changes, replaces or fails it. */
  readonly humanInput?: boolean
  /**
   * In a sequential crew: what follows starts beside it, and waits only where it has it in its context (left out: all
   * earlier).
   */
  readonly async?: boolean
  /** Whether the task is executed, decided when its turn comes. Otherwise it is skipped and has no output. */
  readonly when?: Condition<OutputsOf<Context> & AnyOutputs>
  /**
   * Where the output is written after the task's completion, below the working folder: `reports/{topic}.md`. At least
   * once.
   */
  readonly outputFile?: string
  /** False: a folder of `outputFile` that is not there is an error. Default true. */
  readonly createDirectory?: boolean
  /** The model is asked for Markdown. */
  readonly markdown?: boolean
  /** Called when the task was executed, with its output. At least once: again after a crash before it returned. */
  readonly callback?: (output: TaskOutput<OutputFor<Schema>>, context: CallbackContext) => unknown
  /** Change it when something changes that Reprise cannot see: what `when` does. */
  readonly version?: string
}

export type OutputFor<Schema> = [Schema] extends [never] ? string : InferOutput<Schema>

/** A task that is a function: fetching, saving, computing. Journaled, fingerprinted and replayed like any other. */
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
  /** Its `outputs` are those of `context`. Its `inputs` may be typed by the schema of the crew: `CodeContext`. */
  readonly run: (context: CodeContext<OutputsOf<Context>, Given>) => Result
  /**
   * What doing it again means, as for tools: `read`, `idempotent`, or `once` (the default), which is never done twice
   * by itself.
   */
  readonly effect?: Effect
  /** Finds out whether a `once` function that was cut off did its work. `undefined`: cannot tell, ask a person. */
  readonly settle?: (idempotencyKey: string) => Settlement | undefined | Promise<Settlement | undefined>
  readonly maxSeconds?: number
  /** A person approves the result, asks for another one, replaces or fails it. */
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
  readonly callback?: (output: TaskOutput<CodeOutput<Result, Schema>>, context: CallbackContext) => unknown
  /** Change it with the function: what that does is not seen. */
  readonly version?: string
}

/** What is kept of a result is its JSON, so that a resumed run sees what a live one saw. */
export type CodeOutput<Result, Schema> = [Schema] extends [never]
  ? Awaited<Result> extends Json
    ? Awaited<Result>
    : unknown
  : InferOutput<Schema>

/** A task that is a crew: a run of its own, journaled beside this one, whose last output is the task's. */
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
  readonly crew: Crew
  /** Those of the child run: an object, or a function of what is there by then. Left out, it gets this run's own. */
  readonly inputs?: ChildInputs<OutputsOf<Context>>
  /** What the crew's last task gave must fit it, as that stands in the journal. Left out, the schema of that task. */
  readonly output?: Schema
  readonly context?: Context
  readonly async?: boolean
  readonly when?: Condition<OutputsOf<Context> & AnyOutputs>
  readonly callback?: (output: TaskOutput<CrewOutput<Output, Schema>>, context: CallbackContext) => unknown
  readonly version?: string
}

/** `Output` is what the last task of the crew gives. */
export type CrewOutput<Output, Schema> = [Schema] extends [never] ? Output : InferOutput<Schema>

export type ChildInputs<Of = AnyOutputs> =
  | { readonly [name: string]: InputValue }
  | ((
      context: ConditionContext<Of>,
    ) => { readonly [name: string]: InputValue } | Promise<{ readonly [name: string]: InputValue }>)

/** The crew of such a task, as the engine needs it. */
export interface ChildOf {
  readonly crew: { '~definition'(overrides: Overrides): CrewDefinition }
  readonly inputs:
    | { readonly [name: string]: Json }
    | ((context: ConditionContext) => Inputs | Promise<Inputs>)
    | undefined
}
