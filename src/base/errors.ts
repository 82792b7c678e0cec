// One error class and one closed table of codes. The code is the contract; messages may be reworded. Each code tells
// whether a retry can help, so that callers needn't parse messages. Facts and next steps are data; the message has both
// in words, for users of the library.
import { nextWords, type NextStep } from './next.ts'

/**
 * Every code, and whether the same call may succeed if repeated. Meanings are comments, to keep bundles small.
 */
export const errorCodes = {
  /** An answer does not fit its question. */
  ANSWER_INVALID: { retry: false },
  /** A journal refers to a stored value that is missing. */
  BLOB_MISSING: { retry: false },
  /** An HTTP call has a wrong signature, is too old, or was received before. */
  CALL_REFUSED: { retry: false },
  /** A callback threw; a resume calls it again. */
  CALLBACK_FAILED: { retry: true },
  /** A crew, flow, task, agent or tool is not put together correctly, or a flow requests a step twice. */
  CREW_INVALID: { retry: false },
  /** The command line found no crew where it looked. */
  CREW_NOT_FOUND: { retry: false },
  /** A started task or a step changed, and the resume has `changed: 'refuse'`; or a step changes in every resume. */
  DEFINITION_CHANGED: { retry: false },
  /** A dispatcher's queue or server cannot be reached, or refuses the run; the run stays ready. */
  DISPATCHER_FAILED: { retry: true },
  /** A run cannot be completed yet, because its inbox has an unread message. */
  INBOX_WAITING: { retry: true },
  /** An input is not valid JSON, does not fit its schema, or is a file that cannot be used. */
  INPUT_INVALID: { retry: false },
  /** A text has a placeholder without an input. */
  INPUT_MISSING: { retry: false },
  /** The call passes an input that no task can use. For a fork, inputs of the old run are accepted too. */
  INPUT_UNKNOWN: { retry: false },
  /** A run id was used again with other inputs. */
  INPUTS_DIFFER: { retry: false },
  /** An agent kept calling tools past maxIterations. */
  ITERATIONS_EXHAUSTED: { retry: false },
  /** A journal, or a value stored with it, is not as it was written, or a build with another format wrote it. */
  JOURNAL_DAMAGED: { retry: false },
  /** Another process took the run over, so nothing more may be appended. */
  LEASE_LOST: { retry: true },
  /** An MCP server could not be started or reached, or did not list its tools. */
  MCP_FAILED: { retry: true },
  /** A model call failed after all its tries. */
  MODEL_FAILED: { retry: true },
  /** The provider of a model id is not known or not installed. */
  MODEL_INVALID: { retry: false },
  /** The API key of a provider, or another variable that it needs, is not set. */
  MODEL_KEY_MISSING: { retry: false },
  /** An option has an invalid value. */
  OPTION_INVALID: { retry: false },
  /** An options object has a name that does not exist. */
  OPTION_UNKNOWN: { retry: false },
  /** A store could not tell whether an append was written, or a tool whether its call happened. */
  OUTCOME_UNKNOWN: { retry: true },
  /** The output file of a task cannot be written; a resume tries again. */
  OUTPUT_FILE_FAILED: { retry: true },
  /** A task produced no acceptable output within its retries. */
  OUTPUT_REFUSED: { retry: true },
  /** Stored outputs were made from other inputs, texts or code, and the call has `stale: 'refuse'`. */
  OUTPUT_STALE: { retry: false },
  /** `onPlan` refused the plan, so nothing was done. */
  PLAN_REFUSED: { retry: false },
  /** A question already has an answer. */
  QUESTION_ANSWERED: { retry: false },
  /** A run has no such open question. */
  QUESTION_NOT_FOUND: { retry: false },
  /** The run has not ended, but no process executes it and it is not queued for workers; resume it. */
  RUN_ABANDONED: { retry: false },
  /** The run was cancelled. */
  RUN_CANCELLED: { retry: false },
  /** The run is completed or cancelled, so it can't be changed. */
  RUN_ENDED: { retry: false },
  /** The store has another run with the id of the run to import or to copy. */
  RUN_EXISTS: { retry: false },
  /** Another process is executing the run. */
  RUN_HELD: { retry: true },
  /** The run was copied to another store, and continues only there. */
  RUN_MOVED: { retry: false },
  /** A child run is only deleted together with its parent. */
  RUN_NEEDED: { retry: false },
  /** There is no such run in the store. */
  RUN_NOT_FOUND: { retry: false },
  /** A schema isn't a Standard Schema, or provides no JSON Schema. */
  SCHEMA_INVALID: { retry: false },
  /** A journal has new entries since it was read. */
  SEQ_CONFLICT: { retry: true },
  /** The store could not be read or written. */
  STORE_FAILED: { retry: true },
  /** A store URL is not known to Reprise, or the store cannot be opened. */
  STORE_INVALID: { retry: false },
  /** The store was written by newer code than this. */
  STORE_NEWER: { retry: false },
  /** The store cannot be reached now; the run stays as recorded in its journal. */
  STORE_UNAVAILABLE: { retry: true },
  /** A task failed. */
  TASK_FAILED: { retry: true },
  /** A run has recorded work that its crew has no task for, or its tasks changed and the resume accepts no changes. */
  TASKS_CHANGED: { retry: false },
  /** The crew has no such task. */
  TASK_NOT_FOUND: { retry: false },
  /** A task took longer than maxSeconds. */
  TIME_EXHAUSTED: { retry: true },
} as const

export type ErrorCode = keyof typeof errorCodes

export interface ErrorDetails {
  readonly runId?: string | undefined
  readonly task?: string | undefined
  /** The tasks that failed, from the outermost inwards. The message names them. */
  readonly tasks?: readonly string[] | undefined
  readonly next?: NextStep | undefined
  /** For RUN_HELD: when the lease expires unless it is renewed, in ms since 1970. */
  readonly until?: number | undefined
  readonly cause?: unknown
}

const brand: unique symbol = Symbol.for('reprise.error') as never

/**
 * The error class of Reprise. `code` is the contract. `runId` and `task` tell where the error happened, `next` what to
 * do about it. `message` is `facts`, followed by `next` as a method call.
 */
export class RepriseError extends Error {
  readonly code: ErrorCode
  /** What happened, without place and advice: `the network is down`. */
  readonly reason: string
  /** Place and reason, without advice: `task research/fetch failed: the network is down`. */
  readonly facts: string
  readonly runId: string | undefined
  readonly task: string | undefined
  /** The task that failed, followed by the failed tasks of nested crews inside it. */
  readonly tasks: readonly string[] | undefined
  readonly next: NextStep | undefined
  /** For RUN_HELD: when the lease expires unless it is renewed, in ms since 1970, if known. */
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
    // Node prints all enumerable fields of an uncaught error, so fields that repeat the message or are undefined are
    // hidden
    for (const name of ['reason', 'facts', 'runId', 'task', 'tasks', 'next', 'until'] as const)
      if (name === 'reason' || name === 'facts' || this[name] === undefined)
        Object.defineProperty(this, name, { enumerable: false })
  }

  /** Whether the same call may succeed if it is repeated. */
  get retryable(): boolean {
    return errorCodes[this.code].retry
  }

  /** Like `instanceof`, but also true for an error from another copy of the package. */
  static isInstance(value: unknown): value is RepriseError {
    return typeof value === 'object' && value !== null && brand in value
  }
}
// on the prototype, since isolatedDeclarations refuses a computed member in the class itself
Object.defineProperty(RepriseError.prototype, brand, { value: true })

/**
 * The message of anything that was thrown, for use within another sentence. The advice of a RepriseError is left out,
 * because it belongs at the end. Also handles values that aren't errors, or can't be converted to a string.
 */
export function messageOf(error: unknown): string {
  if (RepriseError.isInstance(error)) return error.facts
  try {
    if (!(error instanceof Error) || typeof error.message !== 'string') return String(error)
    // Node puts the reason of a failed fetch into the cause: if every address of a host failed, an AggregateError
    // without a message
    if (error.message === 'fetch failed' && error.cause !== undefined) return `fetch failed: ${messageOf(error.cause)}`
    return error.message === '' && error instanceof AggregateError
      ? error.errors.map(messageOf).join(', ')
      : error.message
  } catch {
    return 'a value that cannot be shown was thrown'
  }
}

/** Wraps errors of other classes as TASK_FAILED. */
export function asRepriseError(error: unknown): RepriseError {
  return RepriseError.isInstance(error) ? error : new RepriseError('TASK_FAILED', messageOf(error), { cause: error })
}

/** Copies an error with another reason. */
export function reworded(error: RepriseError, reason: string, details: ErrorDetails = {}): RepriseError {
  const { code, runId, task, next } = error
  return new RepriseError(code, reason, { runId, task, next, cause: error, ...details })
}
