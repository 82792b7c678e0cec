// Events and messages of the AG-UI protocol (version 1.0), as far as runs use them. They are declared here, so that
// serving the protocol needs no package; tests check them against the protocol's own schemas.
import type { Json } from '../../journal/json.ts'

export type AgUiEvent =
  | {
      readonly type: 'RUN_STARTED'
      readonly threadId: string
      readonly runId: string
      readonly protocolVersion: '1.0'
    }
  | { readonly type: 'MESSAGES_SNAPSHOT'; readonly messages: readonly (AgUiMessage | ClientMessage)[] }
  | { readonly type: 'STEP_STARTED' | 'STEP_FINISHED'; readonly stepName: string }
  | {
      readonly type: 'TEXT_MESSAGE_START'
      readonly messageId: string
      readonly role: 'assistant'
      readonly name?: string
    }
  | { readonly type: 'TEXT_MESSAGE_CONTENT'; readonly messageId: string; readonly delta: string }
  | { readonly type: 'TEXT_MESSAGE_END'; readonly messageId: string }
  | { readonly type: 'REASONING_START' | 'REASONING_END'; readonly messageId: string }
  | { readonly type: 'REASONING_MESSAGE_START'; readonly messageId: string; readonly role: 'reasoning' }
  | { readonly type: 'REASONING_MESSAGE_CONTENT'; readonly messageId: string; readonly delta: string }
  | { readonly type: 'REASONING_MESSAGE_END'; readonly messageId: string }
  | {
      readonly type: 'TOOL_CALL_START'
      readonly toolCallId: string
      readonly toolCallName: string
      readonly parentMessageId: string
    }
  | { readonly type: 'TOOL_CALL_ARGS'; readonly toolCallId: string; readonly delta: string }
  | { readonly type: 'TOOL_CALL_END'; readonly toolCallId: string }
  | {
      readonly type: 'TOOL_CALL_RESULT'
      readonly messageId: string
      readonly toolCallId: string
      readonly content: string
      readonly role: 'tool'
    }
  | {
      readonly type: 'ACTIVITY_SNAPSHOT'
      readonly messageId: string
      readonly activityType: ActivityType
      readonly content: object
    }
  | {
      readonly type: 'RUN_FINISHED'
      readonly threadId: string
      readonly runId: string
      readonly result?: Json
      readonly outcome:
        | { readonly type: 'success' | 'cancelled' }
        | { readonly type: 'interrupt'; readonly interrupts: readonly AgUiInterrupt[] }
    }
  | { readonly type: 'RUN_ERROR'; readonly message: string; readonly code: string }

/** A task or a question; its content is `TaskData` or `QuestionData`. */
export type ActivityType = 'reprise.task' | 'reprise.question'

/** What a suspended run waits for: an open question, with its id, or a resume, with the id `resume`. */
export interface AgUiInterrupt {
  readonly id: string
  readonly reason: string
  readonly message: string
  readonly toolCallId?: string
  /** The schema of the answer, which `run.answer` takes. */
  readonly responseSchema?: object
}

export type AgUiMessage =
  | AssistantMessage
  | { readonly id: string; readonly role: 'reasoning'; readonly content: string }
  | { readonly id: string; readonly role: 'tool'; readonly toolCallId: string; readonly content: string }
  | { readonly id: string; readonly role: 'activity'; readonly activityType: ActivityType; readonly content: object }

export interface AssistantMessage {
  readonly id: string
  readonly role: 'assistant'
  readonly name?: string
  readonly content?: string
  readonly toolCalls?: {
    readonly id: string
    readonly type: 'function'
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
}

/** Any message of the client. */
export interface ClientMessage {
  readonly id: string
  readonly role: string
}

/** The fields of a client's `RunAgentInput` that are used. */
export interface AgUiInput {
  readonly threadId: string
  readonly runId: string
  /** All messages of the client. Snapshots repeat all but the run's own. */
  readonly messages: readonly ClientMessage[]
}
