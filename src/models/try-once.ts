// One request to one model: a single step of the AI SDK's generateText, with tools that it cannot execute and an output
// that it does not parse. The engine decides what to do with the reply, after it was recorded.
import type { LanguageModelMiddleware, LanguageModelUsage, Output, ToolSet } from 'ai'
import type { Usage } from '../journal/entries.ts'
import { isNestedDeeper, nestingLimit, type Json } from '../journal/json.ts'
import type { ModelReply, ModelRequest } from './call-model.ts'
import { redact } from '../secrets/redact.ts'
import { toModelMessages, toReplyParts } from './messages.ts'
import { timeoutError } from './model-failure.ts'
import type { LanguageModelV4, ResolvedModel } from './resolve/resolve-model.ts'
import { modelSettings, providerOptions } from './resolve/settings.ts'
import { streamedReply, type Hear } from './streamed-reply.ts'
import { refuseFiles } from './user-content.ts'

/** `hearing` is asked right before the request is sent: when it returns a listener, the reply is streamed. */
export async function tryOnce(
  request: ModelRequest,
  resolved: ResolvedModel,
  timeoutMs: number,
  hearing: () => Hear | undefined = () => undefined,
): Promise<Omit<ModelReply, 'startedAt' | 'tries'>> {
  const { generateText, jsonSchema, wrapLanguageModel } = await import('ai')
  const { instructions, messages, output, settings } = request
  refuseFiles(resolved.model.provider, messages)
  // a model may ask for a tool named like a member that every object has
  const tools = Object.create(null) as ToolSet
  for (const { name, description, schema } of request.tools) {
    tools[name] = { description, inputSchema: jsonSchema(schema as Parameters<typeof jsonSchema>[0]) }
  }
  const result = await withDeadline(request.signal, timeoutMs, (abortSignal) =>
    generateText({
      ...modelSettings(settings),
      model: wrapLanguageModel({ model: resolved.model, middleware: middleware(request, hearing) }),
      messages: toModelMessages(messages, request.files),
      providerOptions: providerOptions(resolved.model.provider, settings, output),
      maxRetries: 0,
      abortSignal,
      ...(request.traced && { telemetry: { isEnabled: false } }),
      ...(instructions !== '' && { instructions }),
      ...(request.tools.length > 0 && { tools }),
      ...(output !== undefined && { output: unparsed(output) }),
    }),
  )
  const { content, usage, finishReason, response } = result.finalStep
  return {
    parts: toReplyParts(
      content,
      request.tools.map((tool) => tool.name),
    ),
    usage: toUsage(usage),
    finish: finishReason,
    ...(response.modelId !== resolved.model.modelId && { model: redact(response.modelId) }),
  }
}

/** Settles as soon as the signal aborts or the time is up, even when the model object ignores both. */
async function withDeadline<T>(
  signal: AbortSignal | undefined,
  timeoutMs: number,
  work: (signal: AbortSignal) => PromiseLike<T>,
): Promise<T> {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(timeoutError(timeoutMs)), timeoutMs)
  const onAbort = (): void => controller.abort(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted === true) onAbort()
  const aborted = new Promise<never>((_resolve, reject) => {
    const stop = (): void => reject(controller.signal.reason as Error)
    if (controller.signal.aborted) stop()
    else controller.signal.addEventListener('abort', stop, { once: true })
  })
  try {
    // The race still handles whichever of the two loses, so it never becomes an unhandled rejection.
    return await Promise.race([work(controller.signal), aborted])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

// Five things are done around the model itself. When somebody listens, the reply is streamed, and put together again
// right here. Warnings are removed from the result, or the SDK prints them: its only switch is global and would silence
// the user's own calls too. `none` is set here, since the SDK throws the whole reply away when a model calls a tool
// anyway. Ids are made unique, since the SDK finds the input of a call by its id, while some servers give every call
// the same one. And what is nested too deeply for a journal is removed, since the SDK runs out of stack on it and the
// reply, which was paid for, would be lost.
function middleware({ toolChoice, warn }: ModelRequest, hearing: () => Hear | undefined): LanguageModelMiddleware {
  return {
    specificationVersion: 'v4',
    transformParams: ({ params }) =>
      Promise.resolve(
        toolChoice === 'none' && params.tools !== undefined ? { ...params, toolChoice: { type: 'none' } } : params,
      ),
    wrapGenerate: async ({ doGenerate, doStream, params }) => {
      const hear = hearing()
      const result = hear ? await streamedReply(await doStream(), hear, params.abortSignal) : await doGenerate()
      for (const warning of result.warnings) warn?.(redact(wordsOf(warning)))
      const seen = new Set<string>()
      const content = result.content.map((part) => {
        if (part.type !== 'tool-call') return withinLimit(part)
        let id = part.toolCallId || 'call'
        for (let count = 2; seen.has(id); count++) id = `${part.toolCallId || 'call'}-${count}`
        seen.add(id)
        return withinLimit({ ...part, toolCallId: id })
      })
      return { ...result, content, warnings: [] }
    },
  }
}

type Content = Awaited<ReturnType<LanguageModelV4['doGenerate']>>['content'][number]

/**
 * An input that is nested too deeply becomes one that isn't JSON, which the model is told about; metadata that deep is
 * left out.
 */
function withinLimit(part: Content): Content {
  const { providerMetadata, ...rest } = part
  const kept = isNestedDeeper(providerMetadata, nestingLimit) ? (rest as Content) : part
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

function wordsOf(warning: { readonly type: string }): string {
  const { message, feature, details, setting } = warning as Readonly<Record<string, string | undefined>>
  const subject = feature ?? setting
  const about = subject === undefined ? '' : `${warning.type} ${subject}`
  return [about, message ?? details].filter(Boolean).join(': ') || JSON.stringify(warning)
}

// Output.object would parse the reply and throw when it isn't JSON, and the reply, which was paid for, would be lost.
function unparsed(schema: Json): Output.Output<string, string, never> {
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
