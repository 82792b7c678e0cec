// One step of a run, and what a run has spent, as the API gives them.
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
  /** As the model saw it in this turn. */
  readonly request: {
    readonly model: string
    readonly instructions: string
    readonly messages: readonly ChatMessage[]
    readonly tools: readonly ToolDefinition[]
    readonly settings: { readonly [name: string]: Json }
    /** JSON Schema of the answer. */
    readonly output?: Json
  }
  /** Undefined when the turn failed. */
  readonly reply?: {
    readonly parts: readonly ReplyPart[]
    readonly finish: string
    /** As its provider named it. */
    readonly model?: string
  }
  /** Why the turn failed. */
  readonly error?: Failure
  /** With what failed tries took. */
  readonly usage: Usage
  readonly cost: number | undefined
  /** Failed tries, also those before a resume made the call again. */
  readonly tries: readonly FailedTry[]
}

export interface ToolStep {
  readonly type: 'tool'
  readonly path: string
  readonly seq: number
  readonly task: string
  readonly tool: string
  readonly effect: 'read' | 'idempotent' | 'once' | undefined
  /** What the model asked for, and what the tool was called with, where a person changed that. */
  readonly asked: Json
  readonly input: Json
  readonly startedAt: string | undefined
  readonly endedAt: string | undefined
  readonly outcome: ToolOutcome | undefined
  readonly source: string | undefined
  /** Why it is not known how it ended. */
  readonly abandoned: string | undefined
  readonly idempotencyKey: string | undefined
  /** How often it was started. */
  readonly times: number
  readonly stack: string | undefined
  readonly questions: readonly { readonly question: Question; readonly askedAt: string; readonly answer?: Answer }[]
}

export interface SpendingView {
  readonly tasks: readonly { readonly task: string; readonly usage: Usage; readonly cost: number | undefined }[]
  readonly models: readonly { readonly model: string; readonly usage: Usage; readonly cost: number | undefined }[]
  /** Each model call in the order of their ends, to be added up over time; those of a nested crew have its task. */
  readonly calls: readonly {
    readonly at: string
    readonly task: string
    readonly model: string
    readonly usage: Usage
    readonly cost: number | undefined
  }[]
}
