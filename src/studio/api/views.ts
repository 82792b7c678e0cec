// Responses of the API about steps, spending, backtests, crews, schedules and the queue.
import type {
  Answer,
  ChatMessage,
  FailedTry,
  Failure,
  Question,
  ReplyPart,
  ToolDefinition,
  ToolOutcome,
  Usage,
} from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import type { OutputDiff } from '../../runs/diff/task-diff.ts'
import type { RunViewStatus, Holder } from '../../runs/status.ts'
import type { CrewDescription } from '../../crew/define/describe.ts'
import type { BacktestPlan } from '../../crew/verbs/plan-backtest.ts'
import type { PriorityName } from '../../crew/verbs/enqueue.ts'

export type { BacktestPlan }

export type StepView = ModelStep | ToolStep

export interface ModelStep {
  readonly type: 'model'
  readonly path: string
  readonly seq: number
  readonly task: string
  readonly agent: string
  readonly startedAt: string
  readonly endedAt: string
  /** What the model was sent for this step. */
  readonly request: {
    readonly model: string
    readonly instructions: string
    readonly messages: readonly ChatMessage[]
    readonly tools: readonly ToolDefinition[]
    readonly settings: { readonly [name: string]: Json }
    /** JSON Schema of the reply. */
    readonly output?: Json
  }
  /** Undefined if the step failed. */
  readonly reply?: {
    readonly parts: readonly ReplyPart[]
    readonly finish: string
    /** The model as the provider named it. */
    readonly model?: string
  }
  /** Why the step failed. */
  readonly error?: Failure
  /** Includes failed tries. */
  readonly usage: Usage
  readonly cost: number | undefined
  /** Failed tries, including those before a resume. */
  readonly tries: readonly FailedTry[]
}

export interface ToolStep {
  readonly type: 'tool'
  readonly path: string
  readonly seq: number
  readonly task: string
  readonly tool: string
  readonly effect: 'read' | 'idempotent' | 'once' | undefined
  /** The arguments that the model requested. */
  readonly asked: Json
  /** The arguments of the call: a person may have changed them. */
  readonly input: Json
  readonly startedAt: string | undefined
  readonly endedAt: string | undefined
  readonly outcome: ToolOutcome | undefined
  readonly source: string | undefined
  /** Why the outcome is unknown. */
  readonly abandoned: string | undefined
  readonly idempotencyKey: string | undefined
  /** How many times the call was started. */
  readonly times: number
  readonly stack: string | undefined
  readonly questions: readonly { readonly question: Question; readonly askedAt: string; readonly answer?: Answer }[]
}

/** What a run spent, child runs included. */
export interface SpendingView {
  readonly tasks: readonly { readonly task: string; readonly usage: Usage; readonly cost: number | undefined }[]
  readonly models: readonly { readonly model: string; readonly usage: Usage; readonly cost: number | undefined }[]
  /** Model calls by time of completion. Calls of a child run count as calls of the task that it executes. */
  readonly calls: readonly {
    readonly at: string
    readonly task: string
    readonly model: string
    readonly usage: Usage
    readonly cost: number | undefined
  }[]
}

export interface BacktestSummary {
  readonly id: string
  readonly crew: string
  readonly task: string
  readonly createdAt: string
  readonly trials: number
  /** Planned trials at the last start. Undefined for backtests of older versions. */
  readonly total: number | undefined
}

/** A stored backtest: the outputs of earlier runs next to those of its trials. */
export interface BacktestView extends BacktestSummary {
  /** Whether this studio executes it. */
  readonly here: boolean
  /** Whether the code of the crew is loaded, so that the backtest can be continued here. */
  readonly code: boolean
  readonly cases: readonly BacktestCaseView[]
}

export interface BacktestCaseView {
  /** The run that executed the task: the earlier run, or a child run of it. */
  readonly runId: string
  /** The task in that run. */
  readonly task: string
  /** The run that tried the task on it. */
  readonly trial: string
  readonly status: RunViewStatus
  readonly inputs: { readonly [name: string]: Json }
  /** Undefined if the earlier run was deleted. */
  readonly old: BacktestSide | undefined
  /** Undefined if the trial has no output. */
  readonly new: BacktestSide | undefined
  readonly equal: boolean
  /** Undefined if the outputs are equal, or one is missing. */
  readonly difference: OutputDiff | undefined
  readonly error: Failure | undefined
  /** What changed since the earlier run. */
  readonly changes: readonly string[]
  /** Tools that were not called. */
  readonly withheld: readonly string[]
}

export interface BacktestSide {
  readonly raw: string
  /** Whether a person provided the output. */
  readonly edited: boolean
  readonly usage: Usage
  readonly cost: number | undefined
}

export interface CrewView extends Omit<CrewDescription, 'tasks'> {
  readonly tasks: readonly CrewTask[]
  /** The crews that contain this crew as a task. If there are any, runs of this crew can't be started directly. */
  readonly within: readonly string[]
}

export interface CrewTask extends Omit<CrewDescription['tasks'][number], 'crew'> {
  /** Name of the nested crew. */
  readonly crew: string | undefined
}

export interface QueueView {
  /** Counts of runs by crew, without child runs. */
  readonly crews: readonly {
    readonly crew: string
    /** Waiting for a worker. `due` of them are ready now; the others are delayed, or imported and left alone. */
    readonly queued: number
    readonly due: number
    readonly running: number
    readonly abandoned: number
    readonly suspended: number
    readonly failed: number
  }[]
  /** Processes that are executing runs. Idle workers aren't visible in a store. */
  readonly workers: readonly (Holder & { readonly runs: readonly string[] })[]
  /** Whether the store has more runs than were counted. */
  readonly cut: boolean
}

/** A schedule that was added to the store. */
export interface AddedScheduleView {
  readonly name: string
  readonly crew: string
  /** Version of the crew in the last run, or when the schedule was added. */
  readonly version: string
  readonly cron: string
  readonly timezone: string
  readonly priority: PriorityName
  /** When the next run is queued. */
  readonly next: string
  /** The run that keeps the schedule. */
  readonly keptBy: string
  /** The last run that the schedule has queued. Without a status, the run was deleted. */
  readonly last: { readonly runId: string; readonly status: RunViewStatus | undefined } | undefined
  /** Why no run is queued. */
  readonly problem: string | undefined
}

/** A schedule declared in the code of a crew. */
export interface ScheduleView {
  readonly crew: string
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly priority: PriorityName
  /** When it runs next. Undefined if it never runs again. */
  readonly next: string | undefined
  /** The id of the next run. */
  readonly runId: string | undefined
  /** Whether a worker has queued the next run. */
  readonly queued: boolean
}
