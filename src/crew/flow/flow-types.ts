// The types of the argument of a flow's function.
import type { ToolContext, Effect, Settlement, Tool, Tools } from '../../tools/tool.ts'
import type { Usage } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import type { InferOutput, SchemaInput } from '../../schema/answer-schema.ts'
import type { Agent } from '../agent.ts'
import type { AgentInputs } from '../agent-crew.ts'
import type { InputsFor, InputValue, NeedsInputs } from '../arguments/run-inputs.ts'
import type { Crew } from '../crew.ts'
import type { OutputFor } from '../options/task-options.ts'
import type { OutputOfLast, Tasks } from '../result/result.ts'
import type { InputsOption, InputsWith } from '../verbs/shared-options.ts'
import type { StepKey } from './step-name.ts'
import type { Duration } from './step-options.ts'

/** The type of a value after a round trip through JSON, as the flow receives what a step returned. */
export type Jsoned<T> = 0 extends 1 & T
  ? T
  : unknown extends T
    ? unknown
    : T extends Json
      ? T
      : T extends undefined | void
        ? null
        : T extends { toJSON(): infer Made }
          ? Jsoned<Made>
          : T extends (...given: never) => unknown
            ? never
            : T extends readonly unknown[]
              ? { [K in keyof T]: Jsoned<T[K]> }
              : { [K in keyof T]: undefined extends T[K] ? Jsoned<Exclude<T[K], undefined>> | undefined : Jsoned<T[K]> }

interface Keyed {
  /** Distinguishes steps with the same name, such as one per item of a list: use the item's id, not its position. */
  readonly key?: StepKey
}

interface Stoppable extends Keyed {
  /**
   * Stops the step when it aborts: the step fails with the reason, and what it waits for is withdrawn. A `once` call
   * that has begun is not stopped. Abort it only in response to another step's result, so that every process aborts it
   * at the same point.
   */
  readonly signal?: AbortSignal
}

interface Named extends Stoppable {
  /** Earlier name or names of the step. A run continues what it recorded under one of them. */
  readonly was?: string | readonly string[]
}

/** The options of a step. `Input`: the type of its input, if it declares one. */
export interface StepOptions<Schema extends SchemaInput = never, Input = undefined> extends Named {
  /**
   * What repeating the function means, as for tools. `read`: harmless. `idempotent`: harmless with the same idempotency
   * key. `once`: never repeated automatically. Default: `once`.
   */
  readonly effect?: Effect
  /**
   * Finds out whether an interrupted `once` step did its work, given its idempotency key and its input. `undefined`
   * means that this is unknown: a person is asked.
   */
  readonly settle?: (
    idempotencyKey: string,
    input: NoInfer<Input>,
  ) => Settlement | undefined | Promise<Settlement | undefined>
  /** A schema that the result must fit. Default: any JSON. */
  readonly output?: Schema
  /** Change it together with the function, to make recorded results stale: Reprise cannot see code. */
  readonly version?: string
  /** How often a failed step is tried again before the flow learns of the failure; not for `once`. Default: 0. */
  readonly retries?: { readonly times: number; readonly backoff?: number }
  /** Time limit in seconds. When it is exceeded, the step fails. Default: no limit. */
  readonly maxSeconds?: number
}

type StepOutput<Result, Schema> = [Schema] extends [never] ? Jsoned<Awaited<Result>> : InferOutput<Schema>

interface RunStepOptions extends Named {
  /** Default: the name of the crew or tool, or the role of the agent. */
  readonly name?: string
}

interface AgentStepOptions<Schema extends SchemaInput> extends RunStepOptions {
  /** A schema that the answer must fit. Default: the answer is a text. */
  readonly output?: Schema
  /** Tools that replace the tools of the agent. */
  readonly tools?: Tools
}

/** The result of running a crew, a flow or an agent. As a string, it is the raw output. */
export interface ChildResult<Output = unknown> {
  readonly raw: string
  readonly output: Output
  readonly runId: string
  readonly usage: Usage
  toString(): string
}

type CrewArguments<T extends Tasks, Inputs extends object> =
  NeedsInputs<InputsWith<T, Inputs>> extends true
    ? [inputs: InputsFor<InputsWith<T, Inputs>>, options?: RunStepOptions]
    : [inputs?: InputsFor<InputsWith<T, Inputs>>, options?: RunStepOptions]

type AgentArguments<Who, Schema extends SchemaInput> =
  NeedsInputs<AgentInputs<Who>> extends true
    ? [options: AgentStepOptions<Schema> & InputsOption<AgentInputs<Who>>]
    : [options?: AgentStepOptions<Schema> & InputsOption<AgentInputs<Who>>]

type RunArguments<What, Schema extends SchemaInput> = What extends Agent
  ? [prompt: string, ...options: AgentArguments<What, Schema>]
  : What extends Tool<infer Input>
    ? [input: Input, options?: RunStepOptions]
    : What extends Crew<infer T, infer Inputs>
      ? CrewArguments<T, Inputs>
      : never

type RunOutcome<What, Schema> = What extends Agent
  ? ChildResult<OutputFor<Schema>>
  : What extends Tool<never, infer Result>
    ? Jsoned<Awaited<Result>>
    : What extends Crew<infer T>
      ? ChildResult<OutputOfLast<T>>
      : never

type Question = string | { readonly text: string; readonly about?: InputValue }

/** The argument of a flow's function. */
export interface FlowRun<Inputs = { readonly [name: string]: unknown }, Given = object> {
  /** The inputs of the run, as the schema of the flow parses them. */
  readonly inputs: Inputs
  readonly runId: string
  /** Aborts when this process stops working on the run. */
  readonly signal: AbortSignal

  /**
   * Calls a function, and records what it returns. With `input`, the function receives a copy of it, and is called
   * again only if the input changes. Without `input`, the step depends on everything that the flow did before.
   */
  step<Result>(name: string, run: (context: ToolContext) => Result): Promise<Jsoned<Awaited<Result>>>
  step<Result, const Schema extends SchemaInput = never>(
    name: string,
    options: StepOptions<Schema> & { readonly input?: undefined },
    run: (context: ToolContext) => Result,
  ): Promise<StepOutput<Result, Schema>>
  step<Input extends InputValue, Result, const Schema extends SchemaInput = never>(
    name: string,
    options: StepOptions<Schema, Input> & { readonly input: Input },
    run: (input: Input, context: ToolContext) => Result,
  ): Promise<StepOutput<Result, Schema>>

  /**
   * Runs an agent, a tool, a crew or another flow. Crews, flows and agents are executed in a child run, whose usage,
   * budget, questions and cancellation are part of this run.
   */
  run<What extends Agent | Tool | Crew, const Schema extends SchemaInput = never>(
    what: What,
    ...given: RunArguments<What, Schema>
  ): Promise<RunOutcome<What, Schema>>

  /**
   * Asks a person. Without a schema, the answer is a text. With `timeout`, resolves with undefined if no answer comes
   * in time.
   */
  ask(name: string, question: Question): Promise<string>
  ask<Schema extends SchemaInput>(
    name: string,
    question: Question,
    schema: Schema,
    options?: Stoppable & { readonly timeout?: undefined },
  ): Promise<InferOutput<Schema>>
  ask<Schema extends SchemaInput>(
    name: string,
    question: Question,
    schema: Schema,
    options: Stoppable & { readonly timeout: Duration },
  ): Promise<InferOutput<Schema> | undefined>

  /**
   * Waits for an event that `run.send(name, value)` sends. Events that were sent earlier are kept; each is received
   * once, in the order of sending. With `timeout`, resolves with undefined if none comes in time.
   */
  event<Schema extends SchemaInput>(
    name: string,
    schema: Schema,
    options?: Stoppable & { readonly timeout?: undefined },
  ): Promise<InferOutput<Schema>>
  event<Schema extends SchemaInput>(
    name: string,
    schema: Schema,
    options: Stoppable & { readonly timeout: Duration },
  ): Promise<InferOutput<Schema> | undefined>

  /** Waits for a time, or until a date. The process may end meanwhile. */
  sleep(name: string, time: Duration | Date, options?: Stoppable): Promise<void>

  /**
   * Ends the run, and continues as a new run with these inputs: `chat~2` after `chat`. For flows that go on for ever:
   * the longer a journal, the longer it takes to continue its run.
   */
  again(inputs: Given): Promise<never>

  /** The time at which the last result was recorded: the same whenever the function is called. */
  now(): Date
  /** A random number from 0 up to 1, the same whenever the function is called. */
  random(name: string, options?: Keyed): number
  /** A random UUID, the same whenever the function is called. */
  uuid(name: string, options?: Keyed): string
}
