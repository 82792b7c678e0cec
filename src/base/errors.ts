// One error class and one closed table of codes. The code is the contract; messages may be reworded. Each code knows
// whether trying the same thing again can help, so callers need not guess from the text. What happened and what can be
// done next are data; the message says both in the library's words.
import { nextWords, type NextStep } from './next.ts'

/**
 * Every code, with whether the same call may succeed when simply made again. What each means is a comment, which no
 * bundle carries.
 */
export const errorCodes = {
  /** An answer does not fit its question. */
  ANSWER_INVALID: { retry: false },
  /** A journal refers to a stored value that is not there. */
  BLOB_MISSING: { retry: false },
  /** A call by HTTP is not signed as it should be, is too old, or came before. */
  CALL_REFUSED: { retry: false },
  /** A callback threw; a resume calls it again. */
  CALLBACK_FAILED: { retry: true },
  /** A crew, task, agent or tool is not put together correctly. */
  CREW_INVALID: { retry: false },
  /** The command line found no crew where it looked. */
  CREW_NOT_FOUND: { retry: false },
  /** The code of a started task changed and the resume was told to refuse that. */
  DEFINITION_CHANGED: { retry: false },
  /** A queue or an engine that is to have a run advanced cannot be reached, or refuses it; the run stays ready. */
  DISPATCHER_FAILED: { retry: true },
  /** A run cannot be completed yet, since a message was left for it that nobody has looked at. */
  INBOX_WAITING: { retry: true },
  /** An input is a value that JSON cannot carry, or a file that cannot be used. */
  INPUT_INVALID: { retry: false },
  /** A text has a placeholder for which no input was given. */
  INPUT_MISSING: { retry: false },
  /** Nothing in the crew can use an input, and it replaces none of the run that a new one is made from. */
  INPUT_UNKNOWN: { retry: false },
  /** A run id was used again with other inputs. */
  INPUTS_DIFFER: { retry: false },
  /** An agent kept calling tools past maxIterations. */
  ITERATIONS_EXHAUSTED: { retry: false },
  /** A journal, or a value stored with it, is not as it was written, or is one of a build with another format. */
  JOURNAL_DAMAGED: { retry: false },
  /** Another process took the run over, so nothing more may be appended. */
  LEASE_LOST: { retry: true },
  /** An MCP server could not be started or reached, or did not list its tools. */
  MCP_FAILED: { retry: true },
  /** A model call failed after all its tries. */
  MODEL_FAILED: { retry: true },
  /** A model id names no provider that is known or installed. */
  MODEL_INVALID: { retry: false },
  /** The API key of a provider, or another variable that it needs, is not set. */
  MODEL_KEY_MISSING: { retry: false },
  /** An option has a value that it does not take. */
  OPTION_INVALID: { retry: false },
  /** An options object has a name that does not exist. */
  OPTION_UNKNOWN: { retry: false },
  /** A store could not tell whether an append was written, or a tool whether its call happened. */
  OUTCOME_UNKNOWN: { retry: true },
  /** The output file of a task cannot be written; a resume tries again. */
  OUTPUT_FILE_FAILED: { retry: true },
  /** A task gave no acceptable output within its retries. */
  OUTPUT_REFUSED: { retry: true },
  /** Stored outputs were made from other inputs, texts or code, and the call was told to refuse that. */
  OUTPUT_STALE: { retry: false },
  /** OnPlan said no to what the call would have done, so nothing was done. */
  PLAN_REFUSED: { retry: false },
  /** A question already has an answer. */
  QUESTION_ANSWERED: { retry: false },
  /** A run has no such open question. */
  QUESTION_NOT_FOUND: { retry: false },
  /** The run has not ended, nobody executes it, and it was not left to workers; resume it. */
  RUN_ABANDONED: { retry: false },
  /** The run was cancelled. */
  RUN_CANCELLED: { retry: false },
  /** The run is completed or cancelled and takes no more changes. */
  RUN_ENDED: { retry: false },
  /** The store has another run with the id of the one to import or to copy. */
  RUN_EXISTS: { retry: false },
  /** Another process is executing the run. */
  RUN_HELD: { retry: true },
  /** The run was copied to another store, and continues only there. */
  RUN_MOVED: { retry: false },
  /** The run works for another one, and is deleted together with it. */
  RUN_NEEDED: { retry: false },
  /** There is no such run in the store. */
  RUN_NOT_FOUND: { retry: false },
  /** A schema isn't a Standard Schema, or gives no JSON Schema. */
  SCHEMA_INVALID: { retry: false },
  /** A journal has moved on since it was read. */
  SEQ_CONFLICT: { retry: true },
  /** The store could not be read or written. */
  STORE_FAILED: { retry: true },
  /** A store URL is not one that Reprise knows, or the store cannot be opened. */
  STORE_INVALID: { retry: false },
  /** The store was written by newer code than this. */
  STORE_NEWER: { retry: false },
  /** The store cannot be reached now; the run stays as its journal has it. */
  STORE_UNAVAILABLE: { retry: true },
  /** A task failed. */
  TASK_FAILED: { retry: true },
  /** A run has recorded work that its crew has no task for, or other tasks than a resume accepts. */
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
  /** The tasks that failed, from the outermost inwards: the message names them. */
  readonly tasks?: readonly string[] | undefined
  readonly next?: NextStep | undefined
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
  readonly next: NextStep | undefined
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
    // Node prints the enumerable fields of an uncaught error: not those that repeat the message or have no value
    for (const name of ['reason', 'facts', 'runId', 'task', 'tasks', 'next', 'until'] as const)
      if (name === 'reason' || name === 'facts' || this[name] === undefined)
        Object.defineProperty(this, name, { enumerable: false })
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
