// What the engine knows about a crew, as plain objects made from the users' classes (crew/define/), and the types of
// the engine itself: options, callbacks, `Engine`, `World`.
import type { Clock } from '../base/clock.ts'
import type { ItemText } from '../text/fill-in.ts'
import type { Prices } from '../models/cost.ts'
import type { LanguageModel } from '../models/resolve/resolve-model.ts'
import type {
  Answers,
  ChatMessage,
  Entry,
  EntryOf,
  Fingerprint,
  Limit,
  Owner,
  Question,
  StoredFile,
  StoredOutput,
} from '../journal/entries.ts'
import type { Files } from '../journal/files.ts'
import type { Json } from '../journal/json.ts'
import type { AskedQuestion } from '../journal/state/open-questions.ts'
import type { RunState } from '../journal/state/state.ts'
import type { NextStep } from '../base/next.ts'
import type { AnswerSchema, ValueSchema } from '../schema/answer-schema.ts'
import type { Effect, ReadFile, Settlement, Tool, ToolContext } from '../tools/tool.ts'
import type { Listeners } from '../read/listeners.ts'
import type { LeaseKeeper } from './lease/leased-tree.ts'
import type { Until } from './limits/time.ts'
import type { FlowContext } from './flow/pass.ts'
import type { ForEachDefinition } from './run/for-each.ts'
import type { Tracing } from './tracing.ts'
import type { ProcessState } from './world.ts'
import type { PatientStore } from '../stores/patient-store.ts'

export interface AgentDefinition {
  readonly role: string
  /** Returns the role with its placeholders filled in, as people and models read it. */
  title(inputs: Inputs): string
  readonly model: LanguageModel | string | undefined
  readonly settings: { readonly [name: string]: Json }
  readonly maxIterations: number
  readonly maxRetries: number
  readonly maxSeconds: number | undefined
  /** Longer conversations are summarised. */
  readonly contextTokens?: number | undefined
  /** Requests per minute, over all tasks of the agent in this process. */
  readonly maxRpm: number | undefined
  /** The sentence about the date that follows the instructions, if the agent gets one. */
  readonly dateWords?: ((now: Date) => string) | undefined
  /** One object per agent, shared by all of its tasks. */
  readonly identity: object
}

export interface TaskDefinition {
  readonly name: string
  /** False if the name is derived from the texts, and changes with them. */
  readonly named: boolean
  /** Earlier names: work that a run has recorded under such a name belongs to this task. */
  readonly was: readonly string[]
  readonly id: string
  readonly description: string
  readonly expectedOutput: string | undefined
  readonly agent: AgentDefinition
  /** Names of the tasks whose outputs it receives. */
  readonly context: readonly string[]
  /** The context was left out, so missing outputs are ignored. Otherwise a failed task in it skips this task. */
  readonly anyContext: boolean
  /** Names of the inputs that its texts use. */
  readonly inputs: readonly string[]
  readonly schema: AnswerSchema | undefined
  /** How other tasks' code parses the output: the schema, and a version, since its transforms are functions. */
  readonly reading?: Json | undefined
  readonly tools: readonly Tool[]
  /** Agents that the task's agent may delegate to or ask. */
  readonly coworkers: readonly CoworkerDefinition[]
  /** How often a refused answer goes back to the model. */
  readonly retries: number
  /** The task is a nested crew. */
  readonly child: ChildDefinition | undefined
  /** The task is a function. */
  readonly code: FunctionDefinition | undefined
  /** Applied in this order, after the schema. */
  readonly guardrails: readonly GuardrailDefinition[]
  /** A person approves the result. */
  readonly humanInput: boolean
  /** Sequential crews: only tasks with this one in their context wait for it. */
  readonly async: boolean
  /** If it returns false, the task is skipped. */
  readonly when: Condition | undefined
  /** Where its output is written, after its completion. */
  readonly outputFile?: OutputFileDefinition | undefined
  /** The task is executed once per item of a list. */
  readonly forEach?: ForEachDefinition | undefined
  /** An item: the task that lists it. */
  readonly of?: string | undefined
  /** Steps of flows: further fields of `task.started`. */
  readonly started?: { readonly input?: Json | undefined; readonly after?: number } | undefined
  /** Steps of flows: the attempt whose conversation this step continues, and the message that continues it. */
  readonly carries?: { readonly path: string; readonly message: string } | undefined
  /** Steps of flows: how often a failure is tried again before the function of the flow learns of it. */
  readonly stepRetries?: Retries | undefined
  /** Renders the texts for the model. `itemText`: with the item of a task with `forEach`. */
  render(inputs: Inputs, outputs: Outputs, itemText?: ItemText): RenderedTask
  /** Returns the turn limit of each agent that works on the task, by title. */
  turns(inputs: Inputs): ReadonlyMap<string, number>
  /** Returns digests of everything declared, of the inputs that the task uses, and of the outputs that it receives. */
  fingerprint(inputs: Inputs, outputs: Outputs): Fingerprint
}

/** The outputs of all tasks of a run, by name. A skipped task has none. */
export interface Outputs {
  get(task: string): Pick<StoredOutput, 'raw' | 'structured' | 'within'> | undefined
  /** Whether the output is missing because the task failed, or was skipped after a failure. */
  lacks?(task: string): boolean
  /** The items of a task with `forEach` that are missing in its output, because they failed. */
  lackedItems?(task: string): readonly string[]
}

export interface RenderedTask {
  readonly instructions: string
  /** Messages that are sent before the message of the task. */
  readonly history?: readonly ChatMessage[]
  /** In pieces: text, or the name of a task whose output is inserted. */
  readonly message: readonly (string | { readonly output: string })[]
  readonly files?: readonly StoredFile[]
}

export interface OutputFileDefinition {
  /**
   * Returns the path below the working folder, with `/` between its parts. Throws INPUT_MISSING or INPUT_INVALID if an
   * input does not fit into it.
   */
  pathFor(inputs: Inputs, itemText?: ItemText): string
  /** Whether missing folders are created; otherwise they are an error. */
  readonly createDirectory: boolean
}

/**
 * The argument of conditions and of the inputs functions of nested crews. A condition sees the tasks that its task
 * waits for, an inputs function the tasks in the context.
 */
export interface ConditionContext<Of = AnyOutputs, Given = Inputs> {
  readonly inputs: Given
  /** The outputs of these tasks, by name, as their schemas parse them. A skipped task has none. */
  readonly outputs: Of
  /** The output of the last of these tasks in the crew's order; undefined if that was skipped. */
  readonly previous: unknown
  /** With `onTaskFailure: 'continue'`: which of these tasks failed, or were skipped after a failure. */
  readonly missing: readonly string[]
  readonly readFile: ReadFile
}

export type Condition<Of = AnyOutputs, Given = Inputs> = (
  context: ConditionContext<Of, Given>,
) => boolean | Promise<boolean>

/** Outputs by task name. */
export type AnyOutputs = { readonly [task: string]: unknown }

export interface CoworkerDefinition {
  readonly agent: AgentDefinition
  /** Renders the goal. Throws INPUT_MISSING if an input in its text is missing. */
  goal(inputs: Inputs): string
  readonly tools: readonly Tool[]
  /** The guardrails of the agent itself. */
  readonly guardrails: readonly GuardrailDefinition[]
  /** Agents that it may delegate to in turn. */
  readonly coworkers: readonly CoworkerDefinition[]
  instructions(inputs: Inputs): string
}

export interface ChildDefinition {
  readonly crew: CrewDefinition
  /** Whether the task has its own output schema, which parses the crew's output. */
  readonly ownSchema: boolean
  /** Whether the crew's texts use the inputs of the parent run, unchanged. */
  readonly sharesInputs: boolean
  /** Names of inputs that are texts of the code, such as the prompt of an agent. */
  readonly wording?: readonly string[]
  /**
   * Returns the inputs of the child run, if they are known before its task starts. Files may be given by name. Throws
   * INPUT_INVALID.
   */
  known(own: Inputs): Inputs | undefined
  /** Makes the inputs of the child run. `own`: the inputs of its parent. */
  inputs(
    context: ConditionContext,
    own: Inputs,
  ): Promise<{ readonly inputs: Inputs; readonly given?: Inputs; readonly files: Files }>
}

export interface FunctionDefinition {
  readonly effect: Effect
  /** Whether the task has a version. Without one, changes to the function go unnoticed. */
  readonly versioned: boolean
  readonly maxSeconds: number | undefined
  /** `changed`: what a person gave in place of the declared input. */
  run(context: CodeContext, changed?: Json): unknown
  readonly settle:
    | ((idempotencyKey: string, changed?: Json) => Settlement | undefined | Promise<Settlement | undefined>)
    | undefined
  /** What a person may change the input to. Default: it can't be changed. */
  readonly input?: Pick<AnswerSchema, 'validate'> | undefined
  /** Whether a person must approve the call. */
  readonly approval?: (() => boolean | Promise<boolean>) | undefined
}

/** The argument of a task's function. `Given` is the type of the inputs, as the schema of the crew parses them. */
export interface CodeContext<Of = AnyOutputs, Given = Inputs> extends ToolContext {
  readonly inputs: Given
  /** Outputs of the tasks in the `context` (default: all earlier tasks), by name, as their schemas parse them. */
  readonly outputs: Of
  /** With `humanInput`: what a person wants changed in the previous result. */
  readonly feedback?: string
  /** With `onTaskFailure: 'continue'`: which of these tasks failed, or were skipped after a failure. */
  readonly missing: readonly string[]
}

/** The argument of a guardrail function. */
export interface GuardrailInput<Output = unknown> {
  readonly raw: string
  /** The answer as the task's schema parses it; without a schema, the text. */
  readonly output: Output
  readonly inputs: Inputs
  readonly task: string
  readonly runId: string
  /** Aborts when the run is stopped or cancelled, or the agent's time is up. */
  readonly signal: AbortSignal
  /** Equal for every try at judging this answer, also after a resume. */
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
  /** Other versions whose runs workers may continue. */
  readonly accepts?: readonly string[] | undefined
  /** How workers retry a failed run. */
  readonly retries?: Retries | undefined
  /** What happens to a run when a task fails. Default: `stop`. */
  readonly onTaskFailure?: FailurePolicy | undefined
  readonly tasks: readonly TaskDefinition[]
  /** The crew is a flow. Its tasks are found while it runs, so `tasks` is empty. */
  readonly flow?: FlowDefinition | undefined
  /** Validates the inputs of its runs. */
  readonly inputs?: ValueSchema | undefined
  /**
   * sequential and hierarchical: one task after another, except async tasks. parallel: each task as soon as its context
   * is ready.
   */
  readonly process: 'sequential' | 'parallel' | 'hierarchical'
  /** How many tasks may be in progress at once. */
  readonly concurrency: number
  readonly budget?: Limit | undefined
  /** Requests per minute, over all runs of the crew in this process. */
  readonly maxRpm?: number | undefined
  /** Runs that workers may execute at once, over all workers of the store. */
  readonly maxRuns?: number | undefined
  readonly logger: CrewLogger
  /** Overrides the built-in prices. */
  readonly prices?: Prices | undefined
  readonly callbacks?: Callbacks | undefined
}

/** `run` calls the user's function. `chat`: its runs are conversations. */
export interface FlowDefinition {
  run(context: FlowContext): unknown
  /** Parses what the function returned. */
  readonly schema: AnswerSchema | undefined
  readonly chat?: boolean
}

/** stop: the run fails. continue: the run continues without the task and its dependents. */
export const failurePolicies = ['stop', 'continue'] as const
export type FailurePolicy = (typeof failurePolicies)[number]

export interface Retries {
  readonly times: number
  /** Seconds before the first retry; doubled for each further retry, up to `maxBackoffSeconds`. */
  readonly backoff: number
}

/** One hour: after that, the cause of the failure has probably gone, or needs a person. */
export const maxBackoffSeconds = 3_600

/** The user's callbacks. An error in one fails the run; a resume calls it again. */
export interface Callbacks {
  /** Before a run is created: may replace its inputs. */
  readonly before?: ((inputs: Inputs) => Promise<{ readonly inputs: Inputs; readonly files: Files }>) | undefined
  /** After a task that this process executed is completed; at least once. */
  readonly task?: ((state: RunState, task: TaskDefinition, readFile: ReadFile) => Promise<void>) | undefined
  /** After each step of this run; at least once. */
  readonly step?: ((state: RunState, entry: StepEntry, readFile: ReadFile) => Promise<void>) | undefined
  /** When all tasks are done, before the run is completed; at least once. */
  readonly after?: ((state: RunState) => Promise<void>) | undefined
}

/** The entries that record steps: model calls and tool calls. Includes `task.completed` only if it has `returned`. */
export type StepEntry = EntryOf<'model.replied' | 'tool.returned' | 'task.completed'>

export type Inputs = { readonly [name: string]: Json }

/** Receives a crew's messages. Without a logger, only warnings are printed. */
export interface Logger {
  info(message: string): void
  warn(message: string): void
}

/** A built-in logger also receives the next step of a warning as data. A user's doesn't: `console` would print it. */
export interface CrewLogger extends Logger {
  warn(message: string, detail?: LogDetail): void
}

export interface LogDetail {
  readonly facts: string
  readonly next: NextStep
}

export type OnQuestion = (
  question: AskedQuestion,
) => Answers[Question['kind']] | undefined | Promise<Answers[Question['kind']] | undefined>

export interface ExecuteOptions {
  /** Stop after this task. Recorded in the journal, so that other processes stop there too. */
  readonly through?: string | undefined
  /** How a resume treats a started task whose code has changed. Default: `continue`. */
  readonly changed?: ChangedPolicy | undefined
  /** What to do with recorded work of tasks that the crew no longer has. */
  readonly decisions?: TaskDecisions | undefined
  readonly onQuestion?: OnQuestion | undefined
  /** Stops the run, which is suspended and can be resumed. */
  readonly signal?: AbortSignal | undefined
  /** Whether the signal hands the run back to the workers instead of suspending it. */
  readonly handsBack?: boolean | undefined
  /** When to hand the run back to the workers. This happens between two steps, and only after at least one. */
  readonly until?: Until | undefined
  /** For a resume of a flow: further failed steps to execute again. The steps that ended the run are anyway. */
  readonly retry?: 'failed' | readonly string[] | undefined
  /** For a resume: replaces the budget of the run. */
  readonly budget?: Limit | undefined
  /** The next step in the error of a failed run. Default: resume it. Null for a child run: its parent has one. */
  readonly next?: NextStep | null | undefined
}

/** Decisions about recorded tasks, by their recorded names. A task of a nested crew is addressed as `settle/payout`. */
export interface TaskDecisions {
  /** New names of tasks, by their old names. */
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
  /** Called with entries as soon as they are on disk. */
  readonly appended?: ((run: string, entries: readonly Entry[]) => void) | undefined
  /** If this engine is for one run tree: the listeners to its models. */
  readonly listeners?: Listeners | undefined
  /** If this engine is for one run tree: its child runs that were already read. */
  readonly within?: Map<string, RunState> | undefined
  readonly tracing?: Tracing | undefined
}

/** The engine's access to time, chance and the process, so that tests can replace it. */
export interface World extends Clock {
  now(): Date
  /** Resolves in the next turn of the event loop, after everything that can settle without waiting. */
  turn(): Promise<void>
  uuid(): string
  newRunId(): string
  /** Identifies the creation of a run: random, never the same twice. */
  newIncarnation(): string
  /** This process. */
  readonly owner: Owner
  /** Whether the process of an owner provably no longer runs. */
  isGone(owner: Owner): boolean
  readonly leaseMs: number
  /** State shared by the runs of this process. */
  readonly process: ProcessState
}
