// Makes one model call, with retries. The AI SDK's own retries are off, so that each failed try is recorded, the clock
// can be replaced, and a call fails instead of waiting very long for a server.
import { defined } from '../base/options.ts'
import type { FailedTry, ChatMessage, ReplyPart, ToolDefinition, Usage } from '../journal/entries.ts'
import type { Files } from '../journal/files.ts'
import { type Json, isNestedDeeper, nestingLimit } from '../journal/json.ts'
import {
  cannotStream,
  describeError,
  failure,
  isFailureOfStreaming,
  isRefusalOfImages,
  isTemporary,
  timeoutError,
  usageOfFailedTry,
} from './model-failure.ts'
import {
  resolveModel,
  type LanguageModel,
  type ResolvedModel,
  modelSettings,
  providerOptions,
} from './resolve/resolve-model.ts'
import { type OnDelta, readStreamedReply } from './read-streamed-reply.ts'
import { imagesFor, showsImages, type Images, refuseFiles } from './tool-output.ts'
import { realClock, type Clock } from '../base/clock.ts'
import type { LanguageModelMiddleware, LanguageModelUsage, Output, Schema, ToolSet } from 'ai'
import { redact } from '../secrets/redact.ts'
import { toModelMessages, hasPending, isForSdk, toReplyParts, type Content } from './messages.ts'

export interface ModelRequest {
  readonly model: LanguageModel | string | undefined
  readonly instructions: string
  readonly messages: readonly ChatMessage[]
  /** The bytes of the files in the messages. */
  readonly files?: Files | undefined
  readonly tools: readonly ToolDefinition[]
  /**
   * `none`: the model must not call tools. The tools stay in the request, because the conversation may contain calls of
   * them.
   */
  readonly toolChoice?: 'auto' | 'none' | undefined
  /** The JSON Schema of the answer. `callModel` doesn't check the reply against it. */
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
  /** Called if the provider doesn't support a part of the request, such as a setting. */
  readonly warn?: ((warning: string) => void) | undefined
  /** Receives the reply while it is produced. The result is the same with and without a listener. */
  readonly listener?: ModelListener | undefined
  /** Whether the call already has a span. If so, the AI SDK's own telemetry is off, or tokens would count twice. */
  readonly traced?: boolean | undefined
}

/** Time and randomness of the tries. */
type ModelClock = Pick<typeof realClock, 'now' | 'sleep' | 'timer' | 'random'>

const neverAborted = new AbortController().signal

export interface ModelListener {
  /** Called right before each try. If it returns false, the reply is requested in one piece. */
  listening(): boolean
  onDelta(type: 'text' | 'reasoning', text: string): void
  /** Called after a failed try: the deltas so far are void. */
  reset(): void
}

export interface ModelReply {
  readonly parts: readonly ReplyPart[]
  readonly usage: Usage
  /** Why the model stopped, for display only: providers disagree on these words. How to continue depends on `parts`. */
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
 * MODEL_FAILED (a `ModelFailure`, which has the tries) when a try fails for good or the last one fails; with the
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
  // tries that failed because the model takes no streams or no images: they are repeated at once without these, and
  // don't count as retries
  let uncountedTries = 0
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
      // the model object can't stream: nothing was sent, so this isn't even a try
      if (streamed && cannotStream(error)) {
        streams = false
        continue
      }
      const { usage, unknown } = usageOfFailedTry(error)
      const cost = unknown ? '; the tokens of this try are unknown and not counted' : ''
      tries.push({ at: isoTime(now()), error: `${describeError(error)}${cost}`, ...defined({ usage }) })
      // a listener must not make a call fail
      if (streamed && isFailureOfStreaming(error)) {
        streams = false
        uncountedTries += 1
        continue
      }
      // an image in a tool result must not make a call fail
      if (images !== 'none' && isRefusalOfImages(error) && showsImages(request.messages)) {
        request.warn?.(`the model does not accept images, so images in tool results were left out`)
        images = 'none'
        uncountedTries += 1
        continue
      }
      const serverWaitMs = retryAfter(error, now())
      const isTooLongWait = serverWaitMs !== undefined && serverWaitMs > maxWaitMs
      const countedTries = tries.length - uncountedTries
      if (countedTries > maxRetries || !isTemporary(error) || isTooLongWait) {
        throw failure({ error, model, startedAt, tries, refusedWaitMs: isTooLongWait ? serverWaitMs : undefined })
      }
      await clock.sleep(serverWaitMs ?? backoff(countedTries, clock.random()), signal ?? neverAborted)
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

/** If the server asks for a longer wait, the call fails, and the run can be resumed later. */
const maxWaitMs = 60_000

const firstWaitMs = 1000
const maxBackoffMs = 30_000

/** The wait in ms that a server asks for, in `retry-after-ms` or `retry-after` (seconds or a date), if it does. */
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
 * The wait in ms after so many failed tries: half of 1, 2, 4 … 30 seconds, plus a random part of the other half, so
 * that workers that were refused together don't retry together.
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

// One try: a single step of the AI SDK's generateText, with tools that the SDK can't execute and an output that it
// doesn't parse, because the engine records the reply before acting on it.

interface TryOptions {
  /** Called right before the request is sent. If it returns a listener, the reply is streamed. */
  readonly startStreaming: () => OnDelta | undefined
  readonly images: Images
  readonly clock: Pick<Clock, 'timer'>
}

let sdk: Promise<typeof import('ai')> | undefined

/** Rejects with the error of the try. */
async function tryOnce(
  request: ModelRequest,
  resolved: ResolvedModel,
  timeoutMs: number,
  { startStreaming, images, clock }: TryOptions,
): Promise<Omit<ModelReply, 'startedAt' | 'tries'>> {
  // imported once, since even a repeated dynamic import takes longer than most of this function
  const { generateText, jsonSchema, wrapLanguageModel } = await (sdk ??= import('ai'))
  const { instructions, messages, output, settings, files } = request
  refuseFiles(resolved.model.provider, messages)
  // no prototype: a model may call a tool named `constructor`
  const tools = Object.create(null) as ToolSet
  for (const tool of request.tools) {
    tools[tool.name] = toSdkTool(tool, jsonSchema(tool.schema as Parameters<typeof jsonSchema>[0]))
  }
  let content: readonly Content[] = []
  const keepContent = (whole: readonly Content[]): void => void (content = whole)
  const result = await withDeadline(clock, request.signal, timeoutMs, (abortSignal) =>
    generateText({
      ...modelSettings(settings),
      model: wrapLanguageModel({ model: resolved.model, middleware: middleware(request, startStreaming, keepContent) }),
      messages: toModelMessages(messages, { files, tools: request.tools, images }),
      providerOptions: providerOptions(resolved.model.provider, settings, output),
      maxRetries: 0,
      abortSignal,
      ...(request.traced && { telemetry: { isEnabled: false } }),
      ...(instructions !== '' && { instructions }),
      ...(request.tools.length > 0 && { tools }),
      ...(output !== undefined && { output: unparsedOutput(output) }),
    }),
  )
  const { toolCalls, usage, finishReason, rawFinishReason, response } = result.finalStep
  const names = request.tools.map((tool) => tool.name)
  const parts = toReplyParts(content, toolCalls, names)
  return {
    parts,
    usage: toUsage(usage),
    finish: finishReason,
    ...((rawFinishReason === 'pause_turn' || hasPending(parts, request.tools)) && { paused: true }),
    ...(response.modelId !== resolved.model.modelId && { model: redact(response.modelId) }),
  }
}

function toSdkTool({ description, provider, options }: ToolDefinition, inputSchema: Schema): ToolSet[string] {
  if (!provider) return { description, inputSchema, ...options } as ToolSet[string]
  const { id, args, executed } = provider
  return { type: 'provider', id, args, isProviderExecuted: executed ?? false, inputSchema } as ToolSet[string]
}

/** Settles as soon as the signal aborts or the time is up, even when the model object ignores both. */
async function withDeadline<T>(
  clock: Pick<Clock, 'timer'>,
  signal: AbortSignal | undefined,
  timeoutMs: number,
  work: (signal: AbortSignal) => PromiseLike<T>,
): Promise<T> {
  const controller = new AbortController()
  const timer = clock.timer(timeoutMs, () => controller.abort(timeoutError(timeoutMs)), true)
  const onAbort = (): void => controller.abort(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted === true) onAbort()
  const aborted = new Promise<never>((_resolve, reject) => {
    const stop = (): void => reject(controller.signal.reason as Error)
    if (controller.signal.aborted) stop()
    else controller.signal.addEventListener('abort', stop, { once: true })
  })
  try {
    // the race also handles the rejection of the loser, which would otherwise be unhandled
    return await Promise.race([work(controller.signal), aborted])
  } finally {
    timer[Symbol.dispose]()
    signal?.removeEventListener('abort', onAbort)
  }
}

// Sits between the SDK and the provider, so that the SDK never discards a reply that was paid for:
// - If there is a listener, the reply is streamed here and assembled before the SDK sees it.
// - Warnings are removed, or the SDK prints them: its only switch is global and would silence the user's own calls.
// - `toolChoice: none` is set here: if the SDK knew of it, it would discard a reply that calls a tool anyway.
// - Ids of calls are made unique: the SDK finds inputs by id, but some servers use the same id for every call.
// - Values nested too deeply for a journal are removed: the SDK would overflow the stack.
// - The SDK only receives the parts of the reply that it has to parse.
function middleware(
  { toolChoice, warn }: ModelRequest,
  startStreaming: () => OnDelta | undefined,
  keepContent: (content: readonly Content[]) => void,
): LanguageModelMiddleware {
  return {
    specificationVersion: 'v4',
    transformParams: ({ params }) =>
      Promise.resolve(
        toolChoice === 'none' && params.tools !== undefined ? { ...params, toolChoice: { type: 'none' } } : params,
      ),
    wrapGenerate: async ({ doGenerate, doStream, params }) => {
      const onDelta = startStreaming()
      const result = onDelta ? await readStreamedReply(doStream, onDelta, params.abortSignal) : await doGenerate()
      for (const warning of result.warnings) warn?.(redact(warningText(warning)))
      const seen = new Set<string>()
      const content = result.content.map((part) => {
        // the ids of a provider's own calls don't change, since their results refer to them
        if (part.type !== 'tool-call' || part.providerExecuted === true) return limitNesting(part)
        let id = part.toolCallId || 'call'
        for (let count = 2; seen.has(id); count++) id = `${part.toolCallId || 'call'}-${count}`
        seen.add(id)
        return limitNesting({ ...part, toolCallId: id })
      })
      refuseApproval(content)
      keepContent(content)
      return { ...result, content: content.filter(isForSdk), warnings: [] }
    },
  }
}

/**
 * Throws if the provider asks for approval of its own call. Replies aren't stored at the provider, which would have
 * forgotten the call by the time a person approves it.
 */
function refuseApproval(content: readonly Content[]): void {
  const request = content.find((part) => part.type === 'tool-approval-request')
  if (!request) return
  const call = content.find((part) => part.type === 'tool-call' && part.toolCallId === request.toolCallId)
  const tool = call?.type === 'tool-call' ? call.toolName : request.toolCallId
  throw new Error(
    `the provider asks for approval of its own call of ${tool}, which is not supported: configure the tool without approval`,
  )
}

/**
 * Replaces a result or an input that is nested too deeply by a message, and drops metadata that is. The message isn't
 * JSON, so a call with the message as its input is invalid, and the model receives it in the result.
 */
function limitNesting(part: Content): Content {
  const { providerMetadata, ...rest } = part
  const kept = isNestedDeeper(providerMetadata, nestingLimit) ? (rest as Content) : part
  if (kept.type === 'tool-result' && isNestedDeeper(kept.result, nestingLimit)) {
    return { ...kept, result: `nested more than ${nestingLimit} levels deep` }
  }
  if (kept.type !== 'tool-call' || !isInputTooDeep(kept.input)) return kept
  return { ...kept, input: `nested more than ${nestingLimit} levels deep: ${kept.input.slice(0, 80)}` }
}

function isInputTooDeep(text: string): boolean {
  try {
    return isNestedDeeper(JSON.parse(text), nestingLimit)
  } catch {
    return false
  }
}

function warningText(warning: { readonly type: string }): string {
  const { message, feature, details, setting } = warning as Readonly<Record<string, string | undefined>>
  const subject = feature ?? setting
  const about = subject === undefined ? '' : `${warning.type} ${subject}`
  return [about, message ?? details].filter(Boolean).join(': ') || JSON.stringify(warning)
}

/** Used instead of Output.object, which throws away a reply that isn't JSON. */
function unparsedOutput(schema: Json): Output.Output<string, string, never> {
  return {
    name: 'unparsed',
    responseFormat: Promise.resolve({ type: 'json', schema: schema as object }),
    parseCompleteOutput: ({ text }) => Promise.resolve(text),
    parsePartialOutput: ({ text }) => Promise.resolve({ partial: text }),
    createElementStreamTransform: () => undefined,
  }
}

function toUsage(usage: LanguageModelUsage): Usage {
  const { cacheReadTokens, cacheWriteTokens } = usage.inputTokenDetails
  const { reasoningTokens } = usage.outputTokenDetails
  return {
    calls: 1,
    input: usage.inputTokens ?? 0,
    output: usage.outputTokens ?? 0,
    ...(cacheReadTokens !== undefined && { cacheRead: cacheReadTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWrite: cacheWriteTokens }),
    ...(reasoningTokens !== undefined && { reasoning: reasoningTokens }),
  }
}
