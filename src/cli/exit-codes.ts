// The exit codes, as documented in docs/reference/cli.md; a test compares the two.
import { RepriseError, type ErrorCode } from '../base/errors.ts'
import type { CommandNext } from './write-command.ts'

export const exitCodes = {
  /** The run is completed, or the command succeeded. */
  done: 0,
  /** The run failed, or something else went wrong. */
  failed: 1,
  /** The command or its arguments are invalid, or the person declined; nothing was started. */
  usage: 2,
  /** The run is suspended: it waits for an answer, or was stopped. It can be resumed. */
  suspended: 3,
  /** Another process is executing the run. */
  held: 4,
  /** There is no such run, task, question or crew. */
  notFound: 5,
  /**
   * A second Ctrl-C ended the process before the run was suspended (it can still be resumed), or the first one ended
   * `tail`.
   */
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** The exit codes of library errors that do not exit with `failed`. */
const byError: { readonly [code in ErrorCode]?: ExitCode } = {
  ANSWER_INVALID: exitCodes.usage,
  CREW_INVALID: exitCodes.usage,
  INPUT_INVALID: exitCodes.usage,
  INPUT_MISSING: exitCodes.usage,
  INPUT_UNKNOWN: exitCodes.usage,
  INPUTS_DIFFER: exitCodes.usage,
  MODEL_INVALID: exitCodes.usage,
  MODEL_KEY_MISSING: exitCodes.usage,
  OPTION_INVALID: exitCodes.usage,
  OPTION_UNKNOWN: exitCodes.usage,
  OUTPUT_STALE: exitCodes.usage,
  SCHEMA_INVALID: exitCodes.usage,
  STORE_INVALID: exitCodes.usage,
  RUN_HELD: exitCodes.held,
  CREW_NOT_FOUND: exitCodes.notFound,
  QUESTION_NOT_FOUND: exitCodes.notFound,
  RUN_NOT_FOUND: exitCodes.notFound,
  TASK_NOT_FOUND: exitCodes.notFound,
}

interface UsageDetails {
  /** The library's code for this error, if it has one. */
  readonly code?: ErrorCode
  readonly next?: CommandNext
  readonly cause?: unknown
}

/** The command's arguments are invalid. The message says what to give instead; `next` is the command to use. */
export class UsageError extends Error {
  readonly code: ErrorCode | 'USAGE'
  readonly next: CommandNext | undefined

  constructor(message: string, { code, next, cause }: UsageDetails = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code ?? 'USAGE'
    this.next = next
  }
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof UsageError)
    return error.code === 'USAGE' ? exitCodes.usage : (byError[error.code] ?? exitCodes.usage)
  return (RepriseError.isInstance(error) ? byError[error.code] : undefined) ?? exitCodes.failed
}
