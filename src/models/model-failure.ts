// Failures of model calls: what caused them, whether to retry, and a message with the model, the HTTP status, the
// server's message (shortened, without keys) and advice. Errors of the AI SDK are recognised by their fields, since
// several copies of it may be installed.
import { defined } from '../base/options.ts'
import { messageOf, RepriseError } from '../base/errors.ts'
import type { FailedTry, Usage } from '../journal/entries.ts'
import { redact } from '../secrets/redact.ts'
import type { ResolvedModel } from './resolve/resolve-model.ts'

/** A MODEL_FAILED error with the fields that `model.failed` records. */
export type ModelFailure = RepriseError & {
  readonly startedAt: string
  readonly tries: readonly FailedTry[]
  /** The conversation does not fit the model's context window. */
  readonly tooLong: boolean
}

export function isModelFailure(error: unknown): error is ModelFailure {
  return RepriseError.isInstance(error) && error.code === 'MODEL_FAILED' && 'tries' in error
}

const timeoutName = 'ModelTimeout'

export function timeoutError(milliseconds: number): Error {
  const error = new Error(
    `no reply within ${milliseconds / 1000} s, the timeout of one try (settings.timeoutSeconds changes it)`,
  )
  error.name = timeoutName
  return error
}

/** The fields of an error that ended a streamed try. */
interface StreamError {
  /** The usage of the failed try, if known. */
  readonly usage?: Usage | undefined
  /** A part of the reply had arrived. */
  readonly begun: boolean
}
const unfinishedName = 'UnfinishedStream'
const brokenName = 'BrokenStream'

export function unfinishedStream(usage?: Usage): Error {
  const fields: StreamError = { usage, begun: true }
  const error = new Error('the stream ended before the reply did')
  return Object.assign(error, { name: unfinishedName, statusCode: 200, ...fields })
}

export function brokenStream(error: unknown, begun: boolean): Error {
  const fields: StreamError = { begun }
  return Object.assign(new Error(`the stream cannot be read: ${messageOf(error)}`), { name: brokenName, ...fields })
}

/** Whether a streamed try failed before the first part arrived, because the model object cannot stream. */
export function cannotStream(error: unknown): boolean {
  return (error as Error).name === brokenName && !(error as Error & StreamError).begun
}

/** The error for a stream that violates the AI SDK's protocol. */
export function protocolError(what: string): Error {
  return new TypeError(what)
}

/** Whether an error that the AI SDK hasn't wrapped is about the connection. */
export function isConnectionLost(error: unknown): boolean {
  for (let inner = error, depth = 0; inner instanceof Error && depth < 5; inner = inner.cause, depth++) {
    const { code } = inner as NodeJS.ErrnoException
    if (/^(E[A-Z]{3,}|UND_ERR_\w+)$/.test(String(code)) || ['AbortError', 'TimeoutError'].includes(inner.name))
      return true
    if (/^(fetch failed|terminated|network error|other side closed)$/i.test(inner.message)) return true
  }
  return false
}

/** The usage of a failed try. `unknown`: a streamed reply had begun, and the provider reported no usage. */
export function usageOfFailedTry(error: unknown): Pick<FailedTry, 'usage'> & { readonly unknown: boolean } {
  const { usage, begun } = error as Partial<StreamError>
  return { ...defined({ usage }), unknown: begun === true && usage === undefined }
}

interface ApiCallError extends Error {
  readonly statusCode?: number
  readonly responseBody?: string
  readonly isRetryable?: boolean
}

/** Whether the same request may succeed if it is sent again. */
export function isTemporary(error: unknown): boolean {
  const { name, isRetryable } = error as ApiCallError
  if (isTooLong(error)) return false
  return name === timeoutName || isRetryable === true || isUnreadable(error)
}

// OpenAI and compatible servers, Anthropic, Google, llama.cpp, Bedrock, Together and xAI each have their own message,
// and most have no code.
const tooLongPatterns = [
  /context_length_exceeded|exceed_context_size|model_context_window_exceeded/,
  /maximum (context|prompt) length|available context size/i,
  /exceed(s|ed)?\b.{0,40}\bcontext (window|limit|length|size)|context window.{0,40}exceed/i,
  /(prompt|input) is too long|reduce the length of the (messages|input|prompt)/i,
  /input token count.*(exceeds|only supports)/i,
  /longer than the model's context length/i,
]

/** Whether the provider refuses the conversation as too long. A limit of tokens per minute is something else. */
export function isTooLong(error: unknown): boolean {
  const { statusCode = 400, responseBody = '' } = error as ApiCallError
  if ([401, 403, 429].includes(statusCode)) return false
  // the body of a 200 is a reply, which may contain any words
  const text = isUnreadable(error) ? messageOf(error) : `${messageOf(error)} ${responseBody}`
  return tooLongPatterns.some((pattern) => pattern.test(text))
}

/** Whether the response has a status of success but isn't a reply: it was cut short, or comes from a proxy. */
function isUnreadable(error: unknown): boolean {
  const { statusCode } = error as ApiCallError
  return statusCode !== undefined && statusCode >= 200 && statusCode < 300
}

/**
 * Whether a try failed because it was streamed: the server or the account doesn't support streams, the server doesn't
 * mark the end of the stream, or the stream can't be read.
 */
export function isFailureOfStreaming(error: unknown): boolean {
  const { name, statusCode = 0, responseBody = '' } = error as ApiCallError
  if (name === unfinishedName || name === brokenName) return true
  return (
    statusCode >= 400 &&
    statusCode < 500 &&
    !isTemporary(error) &&
    /\bstream/i.test(`${messageOf(error)} ${responseBody}`)
  )
}

/** Whether a try failed because the model doesn't accept images, at least not in tool results. */
export function isRefusalOfImages(error: unknown): boolean {
  const { statusCode = 0, responseBody = '', name } = error as ApiCallError
  const refused = statusCode >= 400 && statusCode < 500 && !isTemporary(error) && ![401, 403, 404].includes(statusCode)
  if (!refused && name !== 'AI_UnsupportedFunctionalityError') return false
  return /\bimages?\b|image_url|\bvision\b|multi-?modal|modalit/i.test(`${messageOf(error)} ${responseBody}`)
}

/** The error of a failed try, on one line. */
export function describeError(error: unknown): string {
  const { statusCode, responseBody } = error as ApiCallError
  const message = messageOf(error).trim()
  if (statusCode === undefined) return shorten(message)
  if (isUnreadable(error))
    return shorten(
      `HTTP ${statusCode} with a reply that cannot be read (${message})${responseBody ? `: ${responseBody}` : ''}`,
    )
  return shorten(`HTTP ${statusCode}: ${message || responseBody || 'the server gave no reason'}`)
}

interface FailedCall {
  readonly error: unknown
  readonly model: ResolvedModel
  readonly startedAt: string
  readonly tries: readonly FailedTry[]
  /** The wait that the server asked for, if it was too long. */
  readonly refusedWaitMs: number | undefined
}

/** The error for a failed call: MODEL_FAILED, or MODEL_KEY_MISSING. */
export function failure(failed: FailedCall): RepriseError {
  const { error, model, startedAt, tries, refusedWaitMs } = failed
  if ((error as Error | undefined)?.name === 'AI_LoadAPIKeyError') {
    return new RepriseError('MODEL_KEY_MISSING', `model ${model.name} needs an API key: ${redact(messageOf(error))}`)
  }
  const times = tries.length === 1 ? '' : ` after ${tries.length} tries`
  const message = `model ${model.name} failed${times}: ${describeError(error)}${advice(error, model, refusedWaitMs)}`
  return Object.assign(new RepriseError('MODEL_FAILED', message, { cause: safeCause(error) }), {
    startedAt,
    tries,
    tooLong: isTooLong(error),
  })
}

function advice(error: unknown, model: ResolvedModel, refusedWaitMs: number | undefined): string {
  const { statusCode } = error as ApiCallError
  if (refusedWaitMs !== undefined) {
    return `; the server asks to wait ${Math.ceil(refusedWaitMs / 1000)} s, and a call waits at most 60 s: try again later`
  }
  if (statusCode === 401 || statusCode === 403) {
    return model.keyVariable === undefined ? '; check the API key of this model' : `; check ${model.keyVariable}`
  }
  return ''
}

/** A copy of an SDK error for `cause`, without request and response: they may contain a key, and Node prints them. */
export function safeCause(error: unknown): Error {
  const { name, statusCode, stack } = error as ApiCallError
  const cause = Object.assign(new Error(describeError(error)), statusCode === undefined ? {} : { statusCode })
  if (name) cause.name = name
  if (stack !== undefined) cause.stack = `${cause.name}: ${cause.message}\n${stackFrames(stack)}`
  return cause
}

function stackFrames(stack: string): string {
  return stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n')
}

function shorten(text: string): string {
  const line = redact(text).replace(/\s+/g, ' ').trim()
  return line.length <= 300 ? line : `${line.slice(0, 300)}…`
}
