// A run as one message of a chat: its types, and what can be read from such a message. Browsers have this too, so it
// needs neither Node nor the AI SDK, of which there are types only.
import type { UIMessage } from 'ai'
import type { Answer, Question, RunStatus } from '../journal/entries.ts'
import type { AskingTask } from '../journal/state/open-questions.ts'
import type { TaskViewStatus } from '../runs/status.ts'

/** The message that a run is. Texts and tools are parts of the AI SDK's own kinds. */
export type RunUIMessage = UIMessage<RunMetadata, RunDataParts>

/** `data-task` and `data-question`. */
export type RunDataParts = { task: TaskData; question: QuestionData }

export interface RunMetadata {
  readonly runId: string
  readonly status: RunStatus
  /** The last entry that the message holds. */
  readonly entry: number
  /** How many steps were over by then: as many `step-start` parts belong to it. */
  readonly steps: number
  /** How many tasks are done, and how many there are. */
  readonly done: number
  readonly total: number
}

/** A task whose turn has come. */
export interface TaskData {
  readonly name: string
  /** With `prompts` of `expose`. */
  readonly description?: string
  readonly agent?: string
  readonly status: TaskViewStatus
  /** The number of its newest attempt; 0 when there was none. */
  readonly attempt: number
  /** Answers that a schema, a guardrail or a person refused, with the attempts that gave them. */
  readonly refusals: readonly { readonly attempt: number; readonly by: string; readonly reason?: string }[]
  /** Once it has one: as text, which is JSON when it is `structured`. */
  readonly output?: string
  readonly structured?: boolean
  readonly error?: string
  /** The run that an inherited output was made in. */
  readonly from?: string
  /** The run of a task that is a crew. */
  readonly child?: string
}

type WithoutInternals<Asked> = Asked extends unknown ? Omit<Asked, 'owner' | 'key'> : never

/** Something that only a person can decide, with what there is to see before that. */
export type QuestionData = WithoutInternals<Question> & {
  readonly status: 'open' | 'answered' | 'withdrawn'
  readonly task: string
  readonly askedAt: string
  /** The answers that it takes, with the fields that each must and may have. */
  readonly decisions: readonly {
    readonly decision: string
    readonly must: readonly string[]
    readonly may: readonly string[]
  }[]
  /** The asking task and the outputs before it that `expose` shows; from the outermost run inwards. */
  readonly asking: readonly AskingData[]
  readonly answer?: Answer
}

/** A task that asks, or whose run asks. With its description and the inputs of its run where `expose` has `prompts`. */
export interface AskingData
  extends Pick<AskingTask, 'runId' | 'crew' | 'task' | 'outputs'>, Partial<Pick<AskingTask, 'description' | 'inputs'>> {
  readonly agent?: string
}

/** What a text, a thought or a tool call of the message belongs to: `reprise` of its metadata. */
export interface PartOrigin {
  readonly task: string
  /** `note#1/2`: task, attempt, model call. */
  readonly path: string
  readonly agent?: string
}

/**
 * The entry after which a message continues: give it as `after`. Whatever came after that entry, such as half a
 * sentence, is replaced by what continues the message. 0 for a message that is not of a run.
 */
export function lastEntryNumber(message: Pick<UIMessage, 'metadata' | 'parts'> | undefined): number {
  const { entry, steps } = (message?.metadata ?? {}) as Partial<RunMetadata>
  if (!Array.isArray(message?.parts) || !isCount(entry) || !isCount(steps)) return 0
  const marks = message.parts.filter(({ type }) => type === 'step-start').length
  // the end of a step is said in two chunks, and it was cut off between them: without its mark, the step isn't over
  return marks < steps ? Math.max(0, entry - 1) : entry
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
