// A run as one chat message: its types, and functions that read such a message. Used in browsers, so it needs neither
// Node nor, except for types, the AI SDK.
import type { UIMessage } from 'ai'
import type { Answer, Question, RunStatus } from '../journal/entries.ts'
import type { AskingTask } from '../journal/state/open-questions.ts'
import type { TaskViewStatus } from '../runs/status.ts'
import { wrong } from '../base/options.ts'

/** The message of a run. Texts and tools are standard parts of the AI SDK. */
export type RunUIMessage = UIMessage<RunMetadata, RunDataParts>

/** The data of `data-task` and `data-question` parts. */
export type RunDataParts = { task: TaskData; question: QuestionData }

export interface RunMetadata {
  readonly runId: string
  readonly status: RunStatus
  /** Number of the last entry that the message includes. */
  readonly entry: number
  /** Number of finished steps as of that entry. Each has a `step-start` part. */
  readonly steps: number
  /** Number of completed and skipped tasks. */
  readonly done: number
  /** Number of tasks. */
  readonly total: number
}

/** A task that the run has reached. */
export interface TaskData {
  readonly name: string
  /** Set if `expose` has `prompts`. */
  readonly description?: string
  readonly agent?: string
  readonly status: TaskViewStatus
  /** The number of its newest attempt; 0 if there was none. */
  readonly attempt: number
  /** Answers that a schema, a guardrail or a person refused, with the number of the attempt. */
  readonly refusals: readonly { readonly attempt: number; readonly by: string; readonly reason?: string }[]
  /** The output as text: JSON if it is `structured`. */
  readonly output?: string
  readonly structured?: boolean
  readonly error?: string
  /** The run that produced the output, if it is inherited. */
  readonly from?: string
  /** The child run of a nested crew. */
  readonly child?: string
}

type WithoutInternals<Asked> = Asked extends unknown ? Omit<Asked, 'owner' | 'key'> : never

/** A question that only a person can decide, with what the person needs to know. */
export type QuestionData = WithoutInternals<Question> & {
  readonly status: 'open' | 'answered' | 'withdrawn'
  readonly task: string
  readonly askedAt: string
  /** The possible answers, with their required and optional fields. */
  readonly decisions: readonly {
    readonly decision: string
    readonly must: readonly string[]
    readonly may: readonly string[]
  }[]
  /** The tasks that ask, from the root to the innermost run, with the earlier outputs that `expose` shows. */
  readonly asking: readonly AskingData[]
  readonly answer?: Answer
}

/** A task that asks, or whose child run asks. Has description and inputs if `expose` has `prompts`. */
export interface AskingData
  extends Pick<AskingTask, 'runId' | 'crew' | 'task' | 'outputs'>, Partial<Pick<AskingTask, 'description' | 'inputs'>> {
  readonly agent?: string
}

/** The origin of a text, reasoning or tool call of the message, in `reprise` of its metadata. */
export interface PartOrigin {
  readonly task: string
  /** The task of a child run that speaks: `draft`, or `research/search` if its run is within another child run. */
  readonly within?: string
  /** `note#1/2`: task, attempt, model call. In a child run, after the attempt that created it: `work#1/note#1/2`. */
  readonly path: string
  readonly agent?: string
}

/**
 * Returns the number of the entry after which a message continues: pass it as `after`. Parts after that entry, such as
 * half a sentence, are replaced when the message continues. 0 for a message that isn't from a run.
 */
export function lastEntryNumber(message: Pick<UIMessage, 'metadata' | 'parts'> | undefined): number {
  const { entry, steps } = (message?.metadata ?? {}) as Partial<RunMetadata>
  if (!Array.isArray(message?.parts) || !isCount(entry) || !isCount(steps)) return 0
  const marks = message.parts.filter(({ type }) => type === 'step-start').length
  // a step ends with two chunks, metadata and `step-start`: if the second is missing, the step isn't finished
  return marks < steps ? Math.max(0, entry - 1) : entry
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** An answer for `run.answer(question, answer)`. */
interface QuestionAnswer {
  readonly question: string
  readonly answer:
    | { readonly decision: 'approve'; readonly note?: string }
    | { readonly decision: 'deny'; readonly reason: string }
}

/**
 * Returns the answers to tool approvals in a message from a browser (`addToolApprovalResponse`). The server decides who
 * may answer. Throws OPTION_INVALID if it isn't a message.
 */
export function answersFrom(message: Pick<UIMessage, 'parts'> | undefined): QuestionAnswer[] {
  if (message === undefined) return []
  const { parts } = requireObject('the message', message)
  if (!Array.isArray(parts)) throw wrong('parts of the message', parts, 'a list of parts')
  return parts.flatMap((part: unknown, index) => readPartAnswer(`part ${index + 1} of the message`, part))
}

function readPartAnswer(what: string, part: unknown): QuestionAnswer[] {
  const { state, approval } = requireObject(what, part)
  if (state !== 'approval-responded') return []
  const { id: question, approved, reason = '' } = requireObject(`approval of ${what}`, approval)
  if (typeof question !== 'string') throw wrong(`id of the approval of ${what}`, question, 'the id of a question')
  if (typeof approved !== 'boolean') throw wrong(`approved of ${what}`, approved, 'true or false')
  if (typeof reason !== 'string') throw wrong(`reason of the approval of ${what}`, reason, 'a string')
  if (approved) return [{ question, answer: { decision: 'approve', ...(reason === '' ? {} : { note: reason }) } }]
  return [{ question, answer: { decision: 'deny', reason: reason.trim() === '' ? 'a person denied it' : reason } }]
}

function requireObject(what: string, value: unknown): { readonly [field: string]: unknown } {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw wrong(what, value, 'an object, as the AI SDK sends it')
}
