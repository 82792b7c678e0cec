// One model call, with its tries. The AI SDK is told to try once; retries are done here, so that each failed try is
// recorded, the clock is a parameter, and a server that asks for a long wait can be distinguished from one that is
// briefly busy.
import { setTimeout as wait } from 'node:timers/promises'
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
import { backoff, maxWaitMs, retryAfter } from './retry-after.ts'
import type { OnDelta } from './read-streamed-reply.ts'
import { imagesFor, showsImages } from './tool-output.ts'
import { tryOnce } from './try-once.ts'

export interface ModelRequest {
  readonly model: LanguageModel | string | undefined
  readonly instructions: string
  readonly messages: readonly ChatMessage[]
  /** The bytes of the files in the messages. */
  readonly files?: Files | undefined
  readonly tools: readonly ToolDefinition[]
  /**
   * `none`: the tools stay in the request (the conversation may contain calls of them), but the model is told to call
   * none.
   */
  readonly toolChoice?: 'auto' | 'none' | undefined
  /** The JSON Schema of the answer. What comes back is not checked here. */
  readonly output?: Json | undefined
  /** Those of `settingNames`; others are ignored. */
  readonly settings?: { readonly [name: string]: Json } | undefined
  /** Tries after the first one; 2 when left out. */
  readonly maxRetries?: number | undefined
  /** Of one try. Default: `settings.timeoutSeconds`, or else ten minutes. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Waits, or rejects when the signal aborts. */
  readonly sleep?: ((milliseconds: number, signal: AbortSignal | undefined) => Promise<unknown>) | undefined
  readonly now?: (() => number) | undefined
  readonly random?: (() => number) | undefined
  /** Called with what the provider cannot do of what was asked, such as a setting that the model does not have. */
  readonly warn?: ((warning: string) => void) | undefined
  /**
   * Gets the reply while it is produced. The result, and how it is reached, is the same with a listener and without.
   */
  readonly listener?: ModelListener | undefined
  /**
   * The call is reported as a span already. Integrations of the AI SDK's own telemetry are then not told of it, or its
   * tokens would be counted twice.
   */
  readonly traced?: boolean | undefined
}

export interface ModelListener {
  /** Asked right before each try: when nobody listens, the reply is requested in one piece. */
  listening(): boolean
  onDelta(kind: 'text' | 'reasoning', text: string): void
  /** Discard what was said: that try failed. */
  reset(): void
}

export interface ModelReply {
  readonly parts: readonly ReplyPart[]
  readonly usage: Usage
  /**
   * Why the model stopped, for people. Whether to continue is decided by the calls in `parts`, since providers disagree
   * on this.
   */
  readonly finish: string
  readonly startedAt: string
  readonly tries: readonly FailedTry[]
  /** The model as its provider named it, where that differs from the one asked for. */
  readonly model?: string
  /** The provider is not done: asked again with what it has said so far, it continues. */
  readonly paused?: true
}

const defaultTimeoutMs = 10 * 60 * 1000

/**
 * Resolves with the first reply. Rejects with MODEL_INVALID or MODEL_KEY_MISSING before anything is sent; with
 * MODEL_FAILED (a `ModelFailure`, which has the tries) when a try failed for good or all of them failed; with the
 * signal's reason as soon as it aborts.
 */
export async function callModel(request: ModelRequest): Promise<ModelReply> {
  const { signal, listener, maxRetries = 2, now = Date.now, random = Math.random, sleep = defaultSleep } = request
  signal?.throwIfAborted()
  const model = await resolveModel(request.model)
  const startedAt = isoTime(now())
  const tries: FailedTry[] = []
  const timeoutMs = request.timeoutMs ?? readTimeout(request.settings) ?? defaultTimeoutMs
  // tries that were lost to how they were made: they are made again at once in another way, and not counted
  let lost = 0
  let streams = true
  let streamed = false
  const hearing = (): OnDelta | undefined => {
    streamed = streams && typeof model.model.doStream === 'function' && (listener?.listening() ?? false)
    return streamed ? (kind, text) => listener?.onDelta(kind, text) : undefined
  }
  let images = imagesFor(model.model.provider)
  for (;;) {
    streamed = false
    try {
      return { ...(await tryOnce(request, model, timeoutMs, { hearing, images })), startedAt, tries }
    } catch (error) {
      listener?.reset()
      signal?.throwIfAborted()
      // as if it had no doStream
      if (streamed && neverBegan(error)) {
        streams = false
        continue
      }
      const { usage, unknown } = lostUsage(error)
      const cost = unknown ? '; the tokens of this try are not known, so they are not counted' : ''
      tries.push({ at: isoTime(now()), error: `${describe(error)}${cost}`, ...defined({ usage }) })
      // listening must not fail a call
      if (streamed && isAgainstStreaming(error)) {
        streams = false
        lost += 1
        continue
      }
      // nor must a tool that returns a picture to a model that cannot see
      if (images !== 'none' && isAgainstImages(error) && showsImages(request.messages)) {
        request.warn?.(`the model takes no images, so those in the results of tools were left out`)
        images = 'none'
        lost += 1
        continue
      }
      const asked = retryAfter(error, now())
      if (tries.length - lost > maxRetries || !isTemporary(error) || (asked ?? 0) > maxWaitMs) {
        throw failure({ error, model, startedAt, tries, asked: (asked ?? 0) > maxWaitMs ? asked : undefined })
      }
      await sleep(asked ?? backoff(tries.length - lost, random()), signal)
      signal?.throwIfAborted()
    }
  }
}

async function defaultSleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await wait(milliseconds, undefined, signal === undefined ? {} : { signal })
  } catch (error) {
    // It rejects with its own AbortError; callers were promised the reason that they gave.
    signal?.throwIfAborted()
    throw error
  }
}

function readTimeout(settings: ModelRequest['settings']): number | undefined {
  const seconds = settings?.['timeoutSeconds']
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined
}

function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
