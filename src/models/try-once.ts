// One request to one model: a single step of the AI SDK's generateText, with tools that it cannot execute and an output
// that it does not parse. The engine records the reply before it acts on it.
import type { LanguageModelMiddleware, LanguageModelUsage, Output, Schema, ToolSet } from 'ai'
import type { ToolDefinition, Usage } from '../journal/entries.ts'
import { isNestedDeeper, nestingLimit, type Json } from '../journal/json.ts'
import type { ModelReply, ModelRequest } from './call-model.ts'
import { redact } from '../secrets/redact.ts'
import { toModelMessages } from './messages.ts'
import { timeoutError } from './model-failure.ts'
import { hasPending, isForSdk, toReplyParts, type Content } from './reply-parts.ts'
import type { ResolvedModel } from './resolve/resolve-model.ts'
import { modelSettings, providerOptions } from './resolve/settings.ts'
import { readStreamedReply, type OnDelta } from './read-streamed-reply.ts'
import { type Images, refuseFiles } from './tool-output.ts'
import type { Clock } from '../base/clock.ts'

export interface TryOptions {
  /** Called right before the request is sent. If it returns a listener, the reply is streamed. */
  readonly startStreaming: () => OnDelta | undefined
  readonly images: Images
  readonly clock: Pick<Clock, 'timer'>
}

let sdk: Promise<typeof import('ai')> | undefined

/** Rejects with the error of the try. */
export async function tryOnce(
  request: ModelRequest,
  resolved: ResolvedModel,
  timeoutMs: number,
  { startStreaming, images, clock }: TryOptions,
): Promise<Omit<ModelReply, 'startedAt' | 'tries'>> {
  // loaded with the first call and kept, since another dynamic import takes longer than most of this function
  const { generateText, jsonSchema, wrapLanguageModel } = await (sdk ??= import('ai'))
  const { instructions, messages, output, settings, files } = request
  refuseFiles(resolved.model.provider, messages)
  // no prototype: a model may call a tool named `constructor`
  const tools = Object.create(null) as ToolSet
  for (const tool of request.tools) {
    tools[tool.name] = toSdkTool(tool, jsonSchema(tool.schema as Parameters<typeof jsonSchema>[0]))
  }
  let content: readonly Content[] = []
  const keep = (whole: readonly Content[]): void => void (content = whole)
  const result = await withDeadline(clock, request.signal, timeoutMs, (abortSignal) =>
    generateText({
      ...modelSettings(settings),
      model: wrapLanguageModel({ model: resolved.model, middleware: middleware(request, startStreaming, keep) }),
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
    // the race also handles the rejection of the loser, so it isn't unhandled
    return await Promise.race([work(controller.signal), aborted])
  } finally {
    timer[Symbol.dispose]()
    signal?.removeEventListener('abort', onAbort)
  }
}

// Wraps the model between the SDK and the provider, so that the SDK never discards a reply that was paid for:
// - With a listener, the reply is streamed, and assembled again right here.
// - Warnings are removed, or the SDK prints them: its only switch is global and would silence the user's own calls.
// - `toolChoice: none` is set here, since the SDK discards the reply of a model that calls a tool anyway.
// - Ids of calls are made unique: the SDK finds inputs by id, but some servers give every call the same id.
// - Values nested too deeply for a journal are removed: the SDK would run out of stack.
// - The SDK only gets the parts of the reply that it has to parse.
function middleware(
  { toolChoice, warn }: ModelRequest,
  startStreaming: () => OnDelta | undefined,
  keep: (content: readonly Content[]) => void,
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
        // ids of a provider's own calls are kept, since their results refer to them
        if (part.type !== 'tool-call' || part.providerExecuted === true) return withinLimit(part)
        let id = part.toolCallId || 'call'
        for (let count = 2; seen.has(id); count++) id = `${part.toolCallId || 'call'}-${count}`
        seen.add(id)
        return withinLimit({ ...part, toolCallId: id })
      })
      refuseApproval(content)
      keep(content)
      return { ...result, content: content.filter(isForSdk), warnings: [] }
    },
  }
}

/** Approvals of a provider's own calls are not supported: without storage, the provider forgets the reply meanwhile. */
function refuseApproval(content: readonly Content[]): void {
  const request = content.find((part) => part.type === 'tool-approval-request')
  if (!request) return
  const call = content.find((part) => part.type === 'tool-call' && part.toolCallId === request.toolCallId)
  const tool = call?.type === 'tool-call' ? call.toolName : request.toolCallId
  throw new Error(
    `the provider asks for approval of its own call of ${tool}, which is not supported: configure the tool without approval`,
  )
}

/** Replaces an input that is nested too deeply by a text that isn't JSON, so that the model learns of it. */
function withinLimit(part: Content): Content {
  const { providerMetadata, ...rest } = part
  const kept = isNestedDeeper(providerMetadata, nestingLimit) ? (rest as Content) : part
  if (kept.type === 'tool-result' && isNestedDeeper(kept.result, nestingLimit)) {
    return { ...kept, result: `nested more than ${nestingLimit} levels deep` }
  }
  if (kept.type !== 'tool-call' || !isTextNestedDeeper(kept.input)) return kept
  return { ...kept, input: `nested more than ${nestingLimit} levels deep: ${kept.input.slice(0, 80)}` }
}

function isTextNestedDeeper(text: string): boolean {
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

// Output.object would throw on a reply that isn't JSON, and lose the reply.
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
