// One error class and one closed table of codes. The code is the contract; messages may be reworded. Each code knows
// whether trying the same thing again can help, so callers need not guess from the text. What happened and what can be
// done next are data; the message says both in the library's words.
import { nextWords, type Next } from './next.ts'

/** Every code, with whether the same call may succeed when simply made again. */
export const errorCodes = {
  ANSWER_INVALID: { retry: false, meaning: 'an answer does not fit its question' },
  BLOB_MISSING: { retry: false, meaning: 'a journal refers to a stored value that is not there' },
  CALLBACK_FAILED: { retry: true, meaning: 'a callback threw; a resume calls it again' },
  CREW_INVALID: { retry: false, meaning: 'a crew, task, agent or tool is not put together correctly' },
  CREW_NOT_FOUND: { retry: false, meaning: 'the command line found no crew where it looked' },
  DEFINITION_CHANGED: {
    retry: false,
    meaning: 'the code of a started task changed and the resume was told to refuse that',
  },
  INBOX_WAITING: {
    retry: true,
    meaning: 'a run cannot be completed yet, since a message was left for it that nobody has looked at',
  },
  INPUT_INVALID: { retry: false, meaning: 'an input is a value that JSON cannot carry, or a file that cannot be used' },
  INPUT_MISSING: { retry: false, meaning: 'a text has a placeholder for which no input was given' },
  INPUTS_DIFFER: { retry: false, meaning: 'a run id was used again with other inputs' },
  ITERATIONS_EXHAUSTED: { retry: false, meaning: 'an agent kept calling tools past maxIterations' },
  JOURNAL_DAMAGED: {
    retry: false,
    meaning: 'a journal, or a value stored with it, is not as it was written, or was written by newer code',
  },
  LEASE_LOST: { retry: true, meaning: 'another process took the run over, so nothing more may be appended' },
  MCP_FAILED: { retry: true, meaning: 'an MCP server could not be started or reached, or did not list its tools' },
  MODEL_FAILED: { retry: true, meaning: 'a model call failed after all its tries' },
  MODEL_INVALID: { retry: false, meaning: 'a model id names no provider that is known or installed' },
  MODEL_KEY_MISSING: {
    retry: false,
    meaning: 'the API key of a provider, or another variable that it needs, is not set',
  },
  OPTION_INVALID: { retry: false, meaning: 'an option has a value that it does not take' },
  OPTION_UNKNOWN: { retry: false, meaning: 'an options object has a name that does not exist' },
  OUTCOME_UNKNOWN: {
    retry: true,
    meaning: 'a store could not tell whether an append was written, or a tool whether its call happened',
  },
  OUTPUT_FILE_FAILED: {
    retry: true,
    meaning: 'the output file of a task cannot be written; a resume tries again',
  },
  OUTPUT_REFUSED: { retry: true, meaning: 'a task gave no acceptable output within its retries' },
  OUTPUT_STALE: {
    retry: false,
    meaning: 'stored outputs were made from other inputs, texts or code, and the call was told to refuse that',
  },
  PLAN_REFUSED: { retry: false, meaning: 'onPlan said no to what the call would have done, so nothing was done' },
  QUESTION_ANSWERED: { retry: false, meaning: 'a question already has an answer' },
  QUESTION_NOT_FOUND: { retry: false, meaning: 'a run has no such open question' },
  RUN_ABANDONED: { retry: false, meaning: 'the run has not ended, and nobody executes it; resume it' },
  RUN_CANCELLED: { retry: false, meaning: 'the run was cancelled' },
  RUN_ENDED: { retry: false, meaning: 'the run is completed or cancelled and takes no more changes' },
  RUN_EXISTS: { retry: false, meaning: 'the store has another run with the id of the one to import or to copy' },
  RUN_HELD: { retry: true, meaning: 'another process is executing the run' },
  RUN_NEEDED: { retry: false, meaning: 'the run works for another one, and is deleted together with it' },
  RUN_NOT_FOUND: { retry: false, meaning: 'there is no such run in the store' },
  SCHEMA_INVALID: { retry: false, meaning: "a schema isn't a Standard Schema, or gives no JSON Schema" },
  SEQ_CONFLICT: { retry: true, meaning: 'a journal has moved on since it was read' },
  STORE_FAILED: { retry: true, meaning: 'the store could not be read or written' },
  STORE_INVALID: { retry: false, meaning: 'a store URL is not one that Reprise knows, or the store cannot be opened' },
  STORE_NEWER: { retry: false, meaning: 'the store was written by newer code than this' },
  STORE_UNAVAILABLE: { retry: true, meaning: 'the store cannot be reached now; the run stays as its journal has it' },
  TASK_FAILED: { retry: true, meaning: 'a task failed' },
  TASK_NOT_FOUND: { retry: false, meaning: 'the crew has no such task' },
  TIME_EXHAUSTED: { retry: true, meaning: 'a task took longer than maxSeconds' },
} as const

export type ErrorCode = keyof typeof errorCodes

export interface ErrorDetails {
  readonly runId?: string | undefined
  readonly task?: string | undefined
  /** The tasks that failed, from the outermost inwards: the message names them. */
  readonly tasks?: readonly string[] | undefined
  readonly next?: Next | undefined
  /** Of a lease that somebody has: when it expires unless it is renewed, in ms since 1970. */
  readonly until?: number | undefined
  readonly cause?: unknown
}

const brand: unique symbol = Symbol.for('reprise.error') as never

/**
 * The error class of Reprise. `code` is the contract; `runId` and `task` say where it happened, `next` what can be done
 * about it. `message` is `facts` with that in the library's words.
 */
export class RepriseError extends Error {
  readonly code: ErrorCode
  /** What happened, without where and without advice: `the net is down`. */
  readonly reason: string
  /** Where and what, without advice: `task research/fetch failed: the net is down`. */
  readonly facts: string
  readonly runId: string | undefined
  readonly task: string | undefined
  /**
   * Of a run that failed in a task: its name, followed, if it is a crew, by the names of the tasks within it that
   * failed.
   */
  readonly tasks: readonly string[] | undefined
  readonly next: Next | undefined
  /** Of RUN_HELD: when the lease expires unless it is renewed, in ms since 1970, where that is known. */
  readonly until: number | undefined

  constructor(code: ErrorCode, reason: string, details: ErrorDetails = {}) {
    const { tasks, next, cause } = details
    const facts = tasks === undefined ? reason : `task ${tasks.join('/')} failed: ${reason}`
    super(next === undefined ? facts : `${facts}; ${nextWords(next)}`, cause === undefined ? undefined : { cause })
    this.name = 'RepriseError'
    this.code = code
    this.reason = reason
    this.facts = facts
    this.runId = details.runId
    this.task = details.task ?? tasks?.[0]
    this.tasks = tasks
    this.next = next
    this.until = details.until
  }

  /** Whether the same call may succeed when it is simply made again. */
  get retryable(): boolean {
    return errorCodes[this.code].retry
  }

  /** Holds across duplicate installs of the package, where `instanceof` does not. */
  static isInstance(value: unknown): value is RepriseError {
    return typeof value === 'object' && value !== null && brand in value
  }
}
// On the prototype, since isolatedDeclarations refuses a computed member in the class itself.
Object.defineProperty(RepriseError.prototype, brand, { value: true })

/**
 * What happened, according to anything that was thrown, for use within another sentence: an error of ours without its
 * advice, which belongs only at the end of its own message. Also works for what isn't an Error, has a message that
 * isn't a text, or cannot be made a string.
 */
export function messageOf(error: unknown): string {
  if (RepriseError.isInstance(error)) return error.facts
  try {
    return error instanceof Error && typeof error.message === 'string' ? error.message : String(error)
  } catch {
    return 'a value that cannot be shown was thrown'
  }
}

/** What was thrown, as an error of ours. */
export function asRepriseError(error: unknown): RepriseError {
  return RepriseError.isInstance(error) ? error : new RepriseError('TASK_FAILED', messageOf(error), { cause: error })
}

/** The same error, in other words. */
export function reworded(error: RepriseError, reason: string, details: ErrorDetails = {}): RepriseError {
  const { code, runId, task, next } = error
  return new RepriseError(code, reason, { runId, task, next, cause: error, ...details })
}
