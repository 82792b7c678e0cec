// Makes one model call, with retries. The AI SDK's own retries are off, so that each failed try is recorded, the clock
// is a parameter, and long waits that a server asks for can be refused.
import { defined } from '../base/defined.ts'
import type { FailedTry, ChatMessage, ReplyPart, ToolDefinition, Usage } from '../journal/entries.ts'
import type { Files } from '../journal/files.ts'
import type { Json } from '../journal/json.ts'
import {
  describe,
  failure,
  isAgainstImages,
  isAgainstStreaming,
  isTemporary,
  lostUsage,
  neverBegan,
} from './model-failure.ts'
import { resolveModel, type LanguageModel } from './resolve/resolve-model.ts'
import type { OnDelta } from './read-streamed-reply.ts'
import { imagesFor, showsImages } from './tool-output.ts'
import { tryOnce } from './try-once.ts'
import { realClock } from '../base/clock.ts'

export interface ModelRequest {
  readonly model: LanguageModel | string | undefined
  readonly instructions: string
  readonly messages: readonly ChatMessage[]
  /** The bytes of the files in the messages. */
  readonly files?: Files | undefined
  readonly tools: readonly ToolDefinition[]
  /**
   * `none`: the model must call no tool. The tools stay in the request, since the conversation may contain their calls.
   */
  readonly toolChoice?: 'auto' | 'none' | undefined
  /** The JSON Schema of the answer. The reply is not checked against it here. */
  readonly output?: Json | undefined
  /** Names outside `settingNames` are ignored. */
  readonly settings?: { readonly [name: string]: Json } | undefined
  /** Default: 2. */
  readonly maxRetries?: number | undefined
  /** The timeout of one try. Default: `settings.timeoutSeconds`, or else ten minutes. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Default: the real clock. */
  readonly clock?: ModelClock | undefined
  /** Called when the provider doesn't support a part of the request, such as a setting. */
  readonly warn?: ((warning: string) => void) | undefined
  /** Gets the reply while it is produced. The result is the same with and without a listener. */
  readonly listener?: ModelListener | undefined
  /** The call already has a span. Then the AI SDK's own telemetry is off, or its tokens would be counted twice. */
  readonly traced?: boolean | undefined
}

/** Time and randomness of the tries. */
type ModelClock = Pick<typeof realClock, 'now' | 'sleep' | 'timer' | 'random'>

const never = new AbortController().signal

export interface ModelListener {
  /** Called right before each try. If false, the reply is requested in one piece. */
  listening(): boolean
  onDelta(type: 'text' | 'reasoning', text: string): void
  /** Discard all deltas: the try failed. */
  reset(): void
}

export interface ModelReply {
  readonly parts: readonly ReplyPart[]
  readonly usage: Usage
  /** Why the model stopped, for people. Providers disagree on this, so the calls in `parts` decide how to continue. */
  readonly finish: string
  readonly startedAt: string
  readonly tries: readonly FailedTry[]
  /** The model's name according to the provider, if it differs from the requested name. */
  readonly model?: string
  /** The provider has paused: it continues when the reply so far is sent back. */
  readonly paused?: true
}

const defaultTimeoutMs = 10 * 60 * 1000

/**
 * Resolves with the first reply. Rejects with MODEL_INVALID or MODEL_KEY_MISSING before anything is sent; with
 * MODEL_FAILED (a `ModelFailure`, which has the tries) when a try failed for good or all of them failed; with the
 * signal's reason as soon as it aborts.
 */
export async function callModel(request: ModelRequest): Promise<ModelReply> {
  const { signal, listener, maxRetries = 2, clock = realClock } = request
  const now = (): number => clock.now().getTime()
  signal?.throwIfAborted()
  const model = await resolveModel(request.model)
  const startedAt = isoTime(now())
  const tries: FailedTry[] = []
  const timeoutMs = request.timeoutMs ?? readTimeout(request.settings) ?? defaultTimeoutMs
  // tries that failed because of streaming or images: repeated at once without these, and not counted
  let lost = 0
  let streams = true
  let streamed = false
  const startStreaming = (): OnDelta | undefined => {
    streamed = streams && typeof model.model.doStream === 'function' && (listener?.listening() ?? false)
    return streamed ? (type, text) => listener?.onDelta(type, text) : undefined
  }
  let images = imagesFor(model.model.provider)
  for (;;) {
    streamed = false
    try {
      return { ...(await tryOnce(request, model, timeoutMs, { startStreaming, images, clock })), startedAt, tries }
    } catch (error) {
      listener?.reset()
      signal?.throwIfAborted()
      // the model object cannot stream, as if it had no doStream
      if (streamed && neverBegan(error)) {
        streams = false
        continue
      }
      const { usage, unknown } = lostUsage(error)
      const cost = unknown ? '; the tokens of this try are not known, so they are not counted' : ''
      tries.push({ at: isoTime(now()), error: `${describe(error)}${cost}`, ...defined({ usage }) })
      // a listener must not make a call fail
      if (streamed && isAgainstStreaming(error)) {
        streams = false
        lost += 1
        continue
      }
      // an image in a tool result must not make a call fail
      if (images !== 'none' && isAgainstImages(error) && showsImages(request.messages)) {
        request.warn?.(`the model does not accept images, so images in tool results were left out`)
        images = 'none'
        lost += 1
        continue
      }
      const asked = retryAfter(error, now())
      if (tries.length - lost > maxRetries || !isTemporary(error) || (asked ?? 0) > maxWaitMs) {
        throw failure({ error, model, startedAt, tries, asked: (asked ?? 0) > maxWaitMs ? asked : undefined })
      }
      await clock.sleep(asked ?? backoff(tries.length - lost, clock.random()), signal ?? never)
      signal?.throwIfAborted()
    }
  }
}

function readTimeout(settings: ModelRequest['settings']): number | undefined {
  const seconds = settings?.['timeoutSeconds']
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined
}

function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

/** If the server asks for a longer wait, the call fails instead: the run can be resumed later. */
const maxWaitMs = 60_000

const firstWaitMs = 1000
const maxBackoffMs = 30_000

/** In ms, from the headers `retry-after-ms` or `retry-after` (seconds or a date). Undefined if there is none. */
export function retryAfter(error: unknown, now: number): number | undefined {
  const headers = (error as { readonly responseHeaders?: Readonly<Record<string, string>> } | undefined)
    ?.responseHeaders
  if (headers === undefined || headers === null) return undefined
  const milliseconds = number(headers['retry-after-ms'])
  if (milliseconds !== undefined) return milliseconds
  const value = headers['retry-after']
  if (value === undefined) return undefined
  const seconds = number(value)
  if (seconds !== undefined) return seconds * 1000
  const date = Date.parse(value)
  // relative to the server's clock, which may differ from ours
  const since = Date.parse(headers['date'] ?? '') || now
  return Number.isNaN(date) ? undefined : Math.max(0, date - since)
}

/**
 * The wait after so many failed tries: half of 1, 2, 4 … seconds, plus a random part of the other half, so that workers
 * that were refused together don't retry together.
 */
export function backoff(failedTries: number, chance: number): number {
  const full = Math.min(maxBackoffMs, firstWaitMs * 2 ** (failedTries - 1))
  return Math.round(full / 2 + (full / 2) * chance)
}

function number(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === '') return undefined
  const value = Number(text)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}
