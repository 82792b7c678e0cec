// What the engine needs to know about a crew. The classes that users write satisfy these; the engine knows no classes.
import type { Clock } from '../base/clock.ts'
import type { Prices } from '../models/prices.ts'
import type { LanguageModel } from '../models/resolve/resolve-model.ts'
import type { EntryOf, StoredFile, StoredOutput, Limit } from '../journal/entries.ts'
import type { Files } from '../journal/files.ts'
import type { Answers, AskedQuestion, Entry, Fingerprint, Json, Owner, Question } from '../journal/index.ts'
import type { RunState } from '../journal/state/state.ts'
import type { NextStep } from '../base/next.ts'
import type { AnswerSchema, ValueSchema } from '../schema/answer-schema.ts'
import type { Effect, ReadFile, Settlement, Tool, ToolContext } from '../tools/tool.ts'
import type { Listeners } from './follow/listeners.ts'
import type { LeaseKeeper } from './lease/lease-keeper.ts'
import type { Until } from './limits/slice.ts'
import type { Tracing } from './tracing.ts'
import type { ProcessState } from './process-state.ts'
import type { PatientStore } from '../stores/patient/patient-store.ts'

export interface AgentDefinition {
  readonly role: string
  /** The role as people and models read it: with its inputs filled in, where they are given. */
  title(inputs: Inputs): string
  readonly model: LanguageModel | string | undefined
  readonly settings: { readonly [name: string]: Json }
  readonly maxIterations: number
  readonly maxRetries: number
  readonly maxSeconds: number | undefined
  /** A conversation that is longer than this is summarised. */
  readonly contextTokens?: number | undefined
  /** Requests per minute, over all tasks of the agent in this process. */
  readonly maxRpm: number | undefined
  /** What is said of the date after its instructions, where it is told. */
  readonly dateWords?: ((now: Date) => string) | undefined
  /** The same for all tasks of one agent. */
  readonly identity: object
}

export interface TaskDefinition {
  readonly name: string
  /** Whether the name was given; one that was derived changes with the texts. */
  readonly named: boolean
  /** Earlier names: a record under one of them is the record of this task. */
  readonly was: readonly string[]
  readonly id: string
  readonly description: string
  readonly expectedOutput: string | undefined
  readonly agent: AgentDefinition
  /** Names of the tasks whose outputs it is given. */
  readonly context: readonly string[]
  /** The context was left out: the task does without outputs that are missing. Otherwise it is skipped then. */
  readonly anyContext: boolean
  /** Names of the inputs that its texts use. */
  readonly inputs: readonly string[]
  readonly schema: AnswerSchema | undefined
  /**
   * How code that is given its output parses it: the schema, and a version for what the schema does that cannot be
   * seen.
   */
  readonly reading?: Json | undefined
  readonly tools: readonly Tool[]
  /** Agents that the task's own agent may hand work to, or ask. */
  readonly coworkers: readonly CoworkerDefinition[]
  /** How often a refused answer goes back to the model. */
  readonly retries: number
  /** The task is a crew. */
  readonly child: ChildDefinition | undefined
  /** The task is a function and asks no model. */
  readonly code: FunctionDefinition | undefined
  /** Asked in this order, after the schema. */
  readonly guardrails: readonly GuardrailDefinition[]
  /** A person approves the result. */
  readonly humanInput: boolean
  /** In a sequential crew: later tasks do not wait for it, unless they have it in their context. */
  readonly async: boolean
  /** Whether the task is executed at all; otherwise it is skipped. */
  readonly when: Condition | undefined
  /** Where its output is written, after its completion. */
  readonly outputFile?: OutputFileDefinition | undefined
  /** The texts for the model, made from the original ones each time. */
  render(inputs: Inputs, outputs: Outputs): RenderedTask
  /** How many turns each agent that works on it has, by title. */
  turns(inputs: Inputs): ReadonlyMap<string, number>
  /** Digests of everything declared, the inputs that it can see, and the outputs that it is given. */
  fingerprint(inputs: Inputs, outputs: Outputs): Fingerprint
}

/** What the tasks of a run gave, by name, including those that a task is not given. A skipped one gives nothing. */
export interface Outputs {
  get(task: string): Pick<StoredOutput, 'raw' | 'structured' | 'within'> | undefined
  /** Whether there is none because the task failed, or was skipped because another one did. */
  lacks?(task: string): boolean
}

export interface RenderedTask {
  readonly instructions: string
  /** In pieces: the output of a task goes where its name is. */
  readonly message: readonly (string | { readonly output: string })[]
  readonly files?: readonly StoredFile[]
}

export interface OutputFileDefinition {
  /** Below the working folder, with `/` between its parts. INPUT_MISSING, INPUT_INVALID. */
  pathFor(inputs: Inputs): string
  /** False: a missing folder is an error. */
  readonly createDirectory: boolean
}

/**
 * What a condition sees of the tasks that its task waits for, and what the inputs of a crew are made from, of the tasks
 * in its context: their outputs by name, as their schemas parse them. A skipped task has none.
 */
export interface ConditionContext<Of = AnyOutputs, Given = Inputs> {
  readonly inputs: Given
  readonly outputs: Of
  /** The output of the last of these tasks in the crew's order; undefined when that was skipped. */
  readonly previous: unknown
  /** Those of these tasks that failed, or were skipped because another one did, in a crew that continues then. */
  readonly missing: readonly string[]
  readonly readFile: ReadFile
}

export type Condition<Of = AnyOutputs, Given = Inputs> = (
  context: ConditionContext<Of, Given>,
) => boolean | Promise<boolean>

/** By task. */
export type AnyOutputs = { readonly [task: string]: unknown }

export interface CoworkerDefinition {
  readonly agent: AgentDefinition
  /** INPUT_MISSING. */
  goal(inputs: Inputs): string
  readonly tools: readonly Tool[]
  /** Those of the agent itself. */
  readonly guardrails: readonly GuardrailDefinition[]
  /** Whom it may delegate to. */
  readonly coworkers: readonly CoworkerDefinition[]
  instructions(inputs: Inputs): string
}

export interface ChildDefinition {
  readonly crew: CrewDefinition
  /** The task has an output schema of its own, which reads what the crew gives. */
  readonly ownSchema: boolean
  /**
   * Those of the child run, as far as they are known before its turn comes. Files may be given by name. INPUT_INVALID.
   */
  known(own: Inputs): Inputs | undefined
  /** Those of the child run; `own` are those of the run that it works for. */
  inputs(
    context: ConditionContext,
    own: Inputs,
  ): Promise<{ readonly inputs: Inputs; readonly given?: Inputs; readonly files: Files }>
}

export interface FunctionDefinition {
  readonly effect: Effect
  /** Whether its task has a version; without one, a change of the function is not noticed. */
  readonly versioned: boolean
  readonly maxSeconds: number | undefined
  run(context: CodeContext): unknown
  readonly settle: ((idempotencyKey: string) => Settlement | undefined | Promise<Settlement | undefined>) | undefined
}

/** What the function of a task is given. `Given` are its inputs, as the schema of the crew parses them. */
export interface CodeContext<Of = AnyOutputs, Given = Inputs> extends ToolContext {
  readonly inputs: Given
  /** Of the tasks in its context, by name, as their schemas parse them. Without a `context`, all earlier ones. */
  readonly outputs: Of
  /** With `humanInput`: what a person wants changed in the result of the call before. */
  readonly feedback?: string
  /** Those of these tasks that failed, or were skipped because another one did, in a crew that continues then. */
  readonly missing: readonly string[]
}

/** What a guardrail judges. */
export interface GuardrailInput<Output = unknown> {
  readonly raw: string
  /** As the task's schema parses it; without a schema, the text. */
  readonly output: Output
  readonly inputs: Inputs
  readonly task: string
  readonly runId: string
  /** Aborts when the run is stopped or cancelled, or the agent's time is up. */
  readonly signal: AbortSignal
  /** The same for every try at judging this answer, in every life of the run. */
  readonly idempotencyKey: string
  readonly readFile: ReadFile
}

export type GuardrailDefinition = { readonly name: string } & (
  | {
      judge(
        answer: GuardrailInput,
      ): Promise<
        { readonly accepted: true; readonly raw?: string } | { readonly accepted: false; readonly reason: string }
      >
    }
  | { readonly sentence: string }
)

export interface CrewDefinition {
  readonly name: string
  readonly version: string
  /** Versions besides its own whose runs this code may take up without being asked. */
  readonly accepts?: readonly string[] | undefined
  /** How workers try a run again that failed. */
  readonly retries?: Retries | undefined
  /** What becomes of a run in which a task fails. Default: `stop`. */
  readonly onTaskFailure?: FailurePolicy | undefined
  readonly tasks: readonly TaskDefinition[]
  /** What the inputs of its runs must fit. */
  readonly inputs?: ValueSchema | undefined
  /**
   * sequential: one after another, except async tasks; hierarchical likewise. parallel: each as soon as its context is
   * ready.
   */
  readonly process: 'sequential' | 'parallel' | 'hierarchical'
  /** How many tasks may be in progress at once. */
  readonly concurrency: number
  readonly budget?: Limit | undefined
  /** Requests per minute, over all runs of the crew in this process. */
  readonly maxRpm?: number | undefined
  readonly logger: CrewLogger
  /** Override the built-in ones. */
  readonly prices?: Prices | undefined
  readonly callbacks?: Callbacks | undefined
}

/** stop: the run fails. continue: it goes on without the task and those that need it. */
export const failurePolicies = ['stop', 'continue'] as const
export type FailurePolicy = (typeof failurePolicies)[number]

export interface Retries {
  readonly times: number
  /** In seconds, before the first; doubled for each further one, up to the longest. */
  readonly backoff: number
}

/** An hour: nobody wants to wait longer for a run that may succeed by now. */
export const maxBackoffSeconds = 3_600

/**
 * The user's code that is told about a run. What it throws fails the run, which can be resumed; then it is called
 * again.
 */
export interface Callbacks {
  /** Before a run is created: the inputs that it is made with. */
  readonly before?: ((inputs: Inputs) => Promise<{ readonly inputs: Inputs; readonly files: Files }>) | undefined
  /** After the completion of a task that was executed here; at least once. */
  readonly task?: ((state: RunState, task: TaskDefinition, readFile: ReadFile) => Promise<void>) | undefined
  /** After a step of this run, `entry`; at least once. */
  readonly step?: ((state: RunState, entry: StepEntry, readFile: ReadFile) => Promise<void>) | undefined
  /** When all tasks are done, before the run is completed; at least once. */
  readonly after?: ((state: RunState) => Promise<void>) | undefined
}

/** What records a step: a model call, or a tool call. */
export type StepEntry = EntryOf<'model.replied' | 'tool.returned'>

export type Inputs = { readonly [name: string]: Json }

/** Where a crew's messages go. Without one, only warnings are printed. */
export interface Logger {
  info(message: string): void
  warn(message: string): void
}

/** Our own loggers also get the next step of a warning as data. Others do not: `console` would print it. */
export interface CrewLogger extends Logger {
  warn(message: string, told?: LogDetail): void
}

export interface LogDetail {
  readonly facts: string
  readonly next: NextStep
}

export type OnQuestion = (
  question: AskedQuestion,
) => Answers[Question['kind']] | undefined | Promise<Answers[Question['kind']] | undefined>

export interface ExecuteOptions {
  /** Stop after this task. The journal says it to whoever executes the run. */
  readonly through?: string | undefined
  /** What a resume does about a started task whose code has changed. Default: `continue`. */
  readonly changed?: ChangedPolicy | undefined
  /** What becomes of recorded work that the crew has no task for. */
  readonly decisions?: TaskDecisions | undefined
  readonly onQuestion?: OnQuestion | undefined
  /** Stops the run in this process: it is suspended and can be resumed. */
  readonly signal?: AbortSignal | undefined
  /** The signal leaves the run to a worker instead. */
  readonly handsBack?: boolean | undefined
  /** When to leave the run to a worker, between two steps and after at least one. */
  readonly until?: Until | undefined
  /** Of a resume: replaces the budget that the run had. */
  readonly budget?: Limit | undefined
  /**
   * What its error says to do next when the run fails, unless that is to resume it. Null: the run that it works for
   * says so.
   */
  readonly next?: NextStep | null | undefined
}

/** By the names that the run knows. A task of a nested crew is `settle/payout`. */
export interface TaskDecisions {
  /** The new name of a task by its old one. */
  readonly renamed?: { readonly [task: string]: string } | undefined
  readonly removed?: readonly string[] | undefined
}

export const changedPolicies = ['restart', 'continue', 'refuse'] as const
export type ChangedPolicy = (typeof changedPolicies)[number]

export interface Engine {
  /** Waits out short outages. */
  readonly store: PatientStore
  readonly world: World
  /** Keeps the leases of all runs of this process in this store. */
  readonly leases: LeaseKeeper
  /** Called with entries when they are on disk. */
  readonly appended?: ((run: string, entries: readonly Entry[]) => void) | undefined
  /** The listeners to the models of the one run that is executed with this engine. */
  readonly listeners?: Listeners | undefined
  /**
   * The runs that work for the one run that is executed with this engine, as far as they are known: nobody reads them
   * again.
   */
  readonly within?: Map<string, RunState> | undefined
  readonly tracing?: Tracing | undefined
}

/** Everything outside that the engine uses, so that tests can replace it. */
export interface World extends Clock {
  now(): Date
  /** Resolves in the next turn of the event loop, after everything that can settle without waiting. */
  turn(): Promise<void>
  uuid(): string
  newRunId(): string
  /** For a run that is created: random, and never the same twice. */
  newIncarnation(): string
  /** This process. */
  readonly owner: Owner
  /** Whether the process of an owner provably no longer runs. */
  isGone(owner: Owner): boolean
  readonly leaseMs: number
  /** What the runs of this process share. */
  readonly process: ProcessState
}
