// Turns errors into responses: a code, a redacted message, and the next step.
import { RepriseError, type ErrorCode } from '../../base/errors.ts'
import { defined } from '../../base/options.ts'
import { redact } from '../../secrets/redact.ts'
import type { Problem } from './contract.ts'

/** The studio's own error codes with their HTTP status, in addition to those of Reprise. */
export const studioCodes = {
  /** The body isn't a JSON object. */
  BODY_INVALID: 400,
  /** No token, or an unknown one. */
  TOKEN_MISSING: 401,
  /** The role of the caller doesn't allow this. */
  ROLE_MISSING: 403,
  /** The request comes from another site. */
  ORIGIN_REFUSED: 403,
  /** The request is for a host name that the studio doesn't serve. */
  HOST_REFUSED: 403,
  NOT_FOUND: 404,
  METHOD_REFUSED: 405,
  /** The code of the crew isn't loaded. */
  NO_CODE: 409,
  BODY_TOO_LARGE: 413,
  /** The content type isn't JSON. */
  TYPE_REFUSED: 415,
  /** An unexpected error. */
  INTERNAL: 500,
} as const

export type StudioCode = keyof typeof studioCodes

/** An error with one of the studio's own codes. It becomes a response, and never reaches users of the library. */
export class StudioProblem extends Error {
  readonly code: StudioCode
  readonly headers: { readonly [name: string]: string }

  constructor(code: StudioCode, message: string, headers: { readonly [name: string]: string } = {}) {
    super(message)
    this.code = code
    this.headers = headers
  }
}

export function notFound(message: string): StudioProblem {
  return new StudioProblem('NOT_FOUND', message)
}

/** The response for an error. The message of an unexpected error is withheld: it may contain URLs or SQL. */
export function problemResponse(error: unknown): Response {
  if (error instanceof StudioProblem)
    return problemJson({ code: error.code, message: redact(error.message) }, studioCodes[error.code], error.headers)
  if (!RepriseError.isInstance(error))
    return problemJson({ code: 'INTERNAL', message: 'the studio failed unexpectedly; try again' }, studioCodes.INTERNAL)
  const { code, facts, next } = error
  return problemJson({ code, message: redact(facts), ...defined({ next }) }, statusOf(code))
}

function problemJson(problem: Problem, status: number, headers: { readonly [name: string]: string } = {}): Response {
  return Response.json(problem, { status, headers })
}

export function statusOf(code: ErrorCode): number {
  if (code.endsWith('_NOT_FOUND')) return 404
  if (invalidCodes.has(code)) return 400
  if (conflictCodes.has(code)) return 409
  if (unavailableCodes.has(code)) return 503
  return 500
}

const invalidCodes: ReadonlySet<ErrorCode> = new Set([
  'ANSWER_INVALID',
  'INPUT_INVALID',
  'INPUT_MISSING',
  'INPUT_UNKNOWN',
  'OPTION_INVALID',
  'OPTION_UNKNOWN',
])
const conflictCodes: ReadonlySet<ErrorCode> = new Set([
  'DEFINITION_CHANGED',
  'INBOX_WAITING',
  'INPUTS_DIFFER',
  'LEASE_LOST',
  'MODEL_INVALID',
  'MODEL_KEY_MISSING',
  'OUTPUT_STALE',
  'PLAN_REFUSED',
  'QUESTION_ANSWERED',
  'RUN_ABANDONED',
  'RUN_CANCELLED',
  'RUN_ENDED',
  'RUN_EXISTS',
  'RUN_HELD',
  'RUN_MOVED',
  'RUN_NEEDED',
  'SEQ_CONFLICT',
  'TASKS_CHANGED',
])
const unavailableCodes: ReadonlySet<ErrorCode> = new Set(['DISPATCHER_FAILED', 'OUTCOME_UNKNOWN', 'STORE_UNAVAILABLE'])
