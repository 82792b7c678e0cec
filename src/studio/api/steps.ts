// The steps and the spending of a run in the API.
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
  /** Model calls by time of completion. Calls of a nested crew have the name of its task. */
  readonly calls: readonly {
    readonly at: string
    readonly task: string
    readonly model: string
    readonly usage: Usage
    readonly cost: number | undefined
  }[]
}
