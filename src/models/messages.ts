// Converts messages between the journal's format and that of the AI SDK. Metadata that a provider needs to continue is
// stored as `opaque` and sent back as provider options, so that a request can be built from the journal alone.
import type { ModelMessage, ContentPart, ToolSet } from 'ai'
import { defined } from '../base/options.ts'
import type {
  ChatMessage,
  GeneratedFile,
  ReplyPart,
  Source,
  ToolDefinition,
  ProviderResult,
  ToolRequest,
} from '../journal/entries.ts'
import { noFiles, type Files } from '../journal/files.ts'
import { type Json, readJson, throughJson } from '../journal/json.ts'
import { imagesIn, toOutput, type Images, userContent, type UserContent } from './tool-output.ts'
import { redact } from '../secrets/redact.ts'
import type { LanguageModelV4 } from './resolve/resolve-model.ts'

type AssistantPart = Exclude<Extract<ModelMessage, { role: 'assistant' }>['content'], string>[number]
type ToolPart = Extract<Extract<ModelMessage, { role: 'tool' }>['content'][number], { type: 'tool-result' }>
type ProviderOptions = NonNullable<ModelMessage['providerOptions']>

interface MessageOptions {
  readonly files?: Files | undefined
  readonly tools?: readonly ToolDefinition[]
  /** How images in tool results are sent. */
  readonly images?: Images
}

/** Converts messages for the AI SDK, except empty messages and parts, which providers refuse. */
export function toModelMessages(messages: readonly ChatMessage[], options: MessageOptions = {}): ModelMessage[] {
  const calls = new Map<string, Json | undefined>()
  const converted = messages.flatMap((message): ModelMessage[] => {
    if (message.role !== 'assistant') return toNonAssistant(message, options, calls)
    for (const part of message.parts) if (part.type === 'call') calls.set(part.id, part.opaque)
    const content = message.parts.filter(isResendable).map((part) => toAssistantPart(part, options.tools ?? []))
    return [{ role: 'assistant', content }]
  })
  return mergeUserMessages(converted.filter((message) => message.content.length > 0))
}

type NonAssistantMessage = Exclude<ChatMessage, { role: 'assistant' }>

function toNonAssistant(
  message: NonAssistantMessage,
  { files = noFiles, images = 'inside' }: MessageOptions,
  calls: Calls,
): ModelMessage[] {
  if (message.role === 'user') return [{ role: 'user', content: userContent(message.text, message.files ?? [], files) }]
  const content = message.results.map(({ id, tool, outcome }): ToolPart => ({
    type: 'tool-result',
    toolCallId: id,
    toolName: tool,
    output: toOutput(outcome, images),
    // those of the call: some providers read its type from them
    ...toProviderOptions(calls.get(id)),
  }))
  const apart = images === 'apart' ? imagesIn(message.results) : []
  return [{ role: 'tool', content }, ...(apart.length === 0 ? [] : [{ role: 'user' as const, content: apart }])]
}
type Calls = ReadonlyMap<string, Json | undefined>

/** Some servers refuse two consecutive user messages. */
function mergeUserMessages(messages: readonly ModelMessage[]): ModelMessage[] {
  const merged: ModelMessage[] = []
  for (const message of messages) {
    const last = merged.at(-1)
    if (last?.role !== 'user' || message.role !== 'user') merged.push(message)
    else
      merged[merged.length - 1] = {
        role: 'user',
        content: [...contentParts(last.content), ...contentParts(message.content)],
      }
  }
  return merged
}

function contentParts(content: UserContent): Exclude<UserContent, string> {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** Sources are for people, and not sent back to providers. */
function isResendable(part: ReplyPart): part is Exclude<ReplyPart, Source> {
  return part.type !== 'source' && hasContent(part)
}

function hasContent(part: ReplyPart): boolean {
  if ((part.type !== 'text' && part.type !== 'reasoning') || part.text !== '') return true
  if (part.opaque === undefined) return false
  // reasoning without text is encrypted; an empty text only matters if it has a signature of Gemini
  return part.type === 'reasoning' || /signature/i.test(JSON.stringify(part.opaque))
}

function toAssistantPart(part: Exclude<ReplyPart, Source>, tools: readonly ToolDefinition[]): AssistantPart {
  const options = toProviderOptions(part.opaque)
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: isCommentary(part.opaque) ? 'text' : part.type, text: part.text, ...options }
    case 'call': {
      const { id, tool, input } = part
      const takesString = tools.find(({ name }) => name === tool)?.provider !== undefined && part.invalid === undefined
      // providers only accept objects as input, so invalid input is sent back as an empty object; the result of the
      // call quotes it. Only tools that a provider defines may take a string.
      const sentInput = takesString || (typeof input === 'object' && input !== null) ? input : {}
      return { type: 'tool-call', toolCallId: id, toolName: tool, input: sentInput, ...options }
    }
    case 'provider-call': {
      const { id, tool, input } = part
      return { type: 'tool-call', toolCallId: id, toolName: tool, input, providerExecuted: true, ...options }
    }
    case 'provider-result': {
      const { id, tool, result, failed } = part
      const value = result as Extract<ToolPart['output'], { type: 'json' }>['value']
      const output = failed
        ? { type: 'error-json' as const, value }
        : typeof value === 'string'
          ? { type: 'text' as const, value }
          : { type: 'json' as const, value }
      return { type: 'tool-result', toolCallId: id, toolName: tool, output, ...options }
    }
    case 'file':
      return {
        type: part.thought ? 'reasoning-file' : 'file',
        mediaType: part.mediaType,
        data: fileData(part),
        ...options,
      }
    case 'custom':
      return { type: 'custom', kind: part.kind as `${string}.${string}`, ...options }
  }
}

function fileData(file: GeneratedFile): string | URL {
  return 'base64' in file ? file.base64 : new URL(file.url)
}

function toProviderOptions(opaque: Json | undefined): { providerOptions?: ProviderOptions } {
  return defined({ providerOptions: opaque as ProviderOptions | undefined })
}

/** Whether a text is commentary, which OpenAI's models write before the answer. */
export function isCommentary(opaque: unknown): boolean {
  const openai = (opaque as { readonly openai?: { readonly phase?: Json } } | undefined)?.openai
  return openai?.phase === 'commentary'
}

// Converts a provider's reply to parts of the journal, in the same order. Reads the provider's own content instead of
// the AI SDK's: the SDK would download files, and discard a whole reply if it can't find the call of a result.

export type Content = Awaited<ReturnType<LanguageModelV4['doGenerate']>>['content'][number]
type ParsedCall = Extract<ContentPart<ToolSet>, { type: 'tool-call' }>

/** Whether the SDK receives a part. It only receives parts that it has to parse. */
export function isForSdk(part: Content): boolean {
  return part.type === 'text' || part.type === 'reasoning' || (part.type === 'tool-call' && !part.providerExecuted)
}

/** Converts a reply. `calls`: the calls that Reprise has to make, as the SDK parsed them. */
export function toReplyParts(
  content: readonly Content[],
  calls: readonly ParsedCall[],
  tools: readonly string[],
): ReplyPart[] {
  const parts = content.flatMap((part): ReplyPart[] => {
    const opaque = toOpaque(part.providerMetadata)
    switch (part.type) {
      case 'text':
      case 'reasoning': {
        // OpenAI's models write commentary before the answer, as separate texts. It is stored as reasoning, so that a
        // structured answer doesn't contain it; toAssistantPart sends it back as text.
        const type = isCommentary(opaque.opaque) ? 'reasoning' : part.type
        const text = { type, text: part.text, ...opaque } as const
        return hasContent(text) ? [text] : []
      }
      case 'tool-call': {
        const { toolCallId: id, toolName: tool } = part
        if (part.providerExecuted === true) {
          // some provider packages violate their types
          const { input: written } = part as { readonly input?: string }
          const input = readJson(written ?? '{}') ?? written ?? {}
          return [{ type: 'provider-call', id, tool, input, ...opaque }]
        }
        const parsed = calls.find((call) => call.toolCallId === id)
        return parsed ? [toToolRequest(parsed, tools)] : []
      }
      case 'tool-result':
        return part.preliminary === true ? [] : [toResult(part, opaque)]
      case 'source':
        return [toSource(part, opaque)]
      case 'file':
      case 'reasoning-file':
        return toFile(part, opaque)
      case 'custom':
        return [{ type: 'custom', kind: part.kind, ...opaque }]
      case 'tool-approval-request':
        return []
    }
  })
  // sources come last: their position is meaningless, and some packages place them differently in streams
  const isSource = (part: ReplyPart): boolean => part.type === 'source'
  const others = parts.filter((part) => !isSource(part)).reduce<ReplyPart[]>(appendPart, [])
  return [...others, ...parts.filter(isSource)]
}

/** Whether the result of a provider's own call will come with its next reply. */
export function hasPending(parts: readonly ReplyPart[], tools: readonly ToolDefinition[]): boolean {
  const answered = new Set(parts.flatMap((part) => (part.type === 'provider-result' ? [part.id] : [])))
  return parts.some((part) => {
    if (part.type !== 'provider-call' || answered.has(part.id)) return false
    return tools.find(({ name }) => name === part.tool)?.provider?.deferred === true
  })
}

/** Appends a part, joining consecutive texts: a server may send in several parts what is one text in a stream. */
function appendPart(parts: ReplyPart[], part: ReplyPart): ReplyPart[] {
  const last = parts.at(-1)
  const isText = last?.type === 'text' || last?.type === 'reasoning'
  if (!isText || last.type !== part.type || last.opaque || part.opaque) return [...parts, part]
  return [...parts.slice(0, -1), { ...last, text: last.text + part.text }]
}

type Opaque = { readonly opaque?: Json }

function toResult(part: Extract<Content, { type: 'tool-result' }>, opaque: Opaque): ProviderResult {
  const { toolCallId: id, toolName: tool, isError } = part
  const json = throughJson(part.result, 'result')
  const result = json.ok ? json.value : `unreadable: ${json.found} at ${json.path}`
  return { type: 'provider-result', id, tool, result, ...defined({ failed: isError ? true : undefined }), ...opaque }
}

function toSource(part: Extract<Content, { type: 'source' }>, opaque: Opaque): Source {
  const { id, url, mediaType, filename, title } = part as { readonly [name: string]: unknown }
  const details = defined({
    url: asString(url),
    mediaType: asString(mediaType),
    filename: asString(filename),
    title: asString(title),
  })
  return { type: 'source', id: asString(id) ?? '', ...details, ...opaque }
}

function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Converts a file. Returns an empty list if its URL is invalid. */
function toFile(part: Extract<Content, { type: 'file' | 'reasoning-file' }>, opaque: Opaque): GeneratedFile[] {
  const { data } = part
  const mediaType = asString(part.mediaType) ?? 'application/octet-stream'
  if (data.type === 'url' && !URL.canParse(String(data.url))) return []
  const base64 = (bytes: string | Uint8Array): string =>
    typeof bytes === 'string' ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  const where = data.type === 'url' ? { url: String(data.url) } : { base64: base64(data.data) }
  return [{ type: 'file', mediaType, ...where, ...(part.type === 'file' ? {} : { thought: true }), ...opaque }]
}

function toToolRequest(part: ParsedCall, tools: readonly string[]): ToolRequest {
  const input = throughJson(part.input, 'input')
  const request = {
    type: 'call',
    id: part.toolCallId,
    tool: part.toolName,
    input: input.ok ? input.value : null,
    ...toOpaque(part.providerMetadata),
  } as const
  return part.invalid === true ? { ...request, invalid: whyInvalid(part.toolName, request.input, tools) } : request
}

function whyInvalid(tool: string, input: Json, tools: readonly string[]): string {
  if (!tools.includes(tool)) {
    const known = tools.length === 0 ? 'There are no tools; answer without one.' : `The tools are: ${tools.join(', ')}.`
    return `There is no tool called ${JSON.stringify(tool)}. ${known}`
  }
  const quoted = typeof input === 'string' ? `: ${redact(input).slice(0, 200)}` : ''
  return `The input of this call to ${tool} is not valid JSON, so it was not made. Call it again with valid JSON. The input was${quoted || ' unreadable'}`
}

function toOpaque(metadata: unknown): Opaque {
  if (metadata === undefined || metadata === null) return {}
  const json = throughJson(metadata, 'opaque')
  return json.ok && JSON.stringify(json.value) !== '{}' ? { opaque: json.value } : {}
}
