// Converts messages of the journal to messages of the AI SDK. Metadata that a provider needs to continue is kept as
// `opaque` and sent back as provider options, so that a request can be made from the journal alone.
import type { ModelMessage } from 'ai'
import { defined } from '../base/defined.ts'
import type { ChatMessage, GeneratedFile, ReplyPart, Source, ToolDefinition } from '../journal/entries.ts'
import { noFiles, type Files } from '../journal/files.ts'
import type { Json } from '../journal/json.ts'
import { imagesIn, toOutput, type Images, userContent, type UserContent } from './tool-output.ts'

type AssistantPart = Exclude<Extract<ModelMessage, { role: 'assistant' }>['content'], string>[number]
type ToolPart = Extract<Extract<ModelMessage, { role: 'tool' }>['content'][number], { type: 'tool-result' }>
type ProviderOptions = NonNullable<ModelMessage['providerOptions']>

export interface MessageOptions {
  readonly files?: Files | undefined
  readonly tools?: readonly ToolDefinition[]
  /** How images in tool results are sent. */
  readonly images?: Images
}

/** Messages and parts without content are left out, since providers refuse them. */
export function toModelMessages(messages: readonly ChatMessage[], wire: MessageOptions = {}): ModelMessage[] {
  const calls = new Map<string, Json | undefined>()
  const made = messages.flatMap((message): ModelMessage[] => {
    if (message.role !== 'assistant') return toNonAssistant(message, wire, calls)
    for (const part of message.parts) if (part.type === 'call') calls.set(part.id, part.opaque)
    const content = message.parts.filter(isResendable).map((part) => toAssistantPart(part, wire.tools ?? []))
    return [{ role: 'assistant', content }]
  })
  return withUsersMerged(made.filter((message) => message.content.length > 0))
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
    // some providers read the type of the call from here
    ...toProviderOptions(calls.get(id)),
  }))
  const apart = images === 'apart' ? imagesIn(message.results) : []
  return [{ role: 'tool', content }, ...(apart.length === 0 ? [] : [{ role: 'user' as const, content: apart }])]
}
type Calls = ReadonlyMap<string, Json | undefined>

/** Some servers refuse two consecutive user messages. */
function withUsersMerged(messages: readonly ModelMessage[]): ModelMessage[] {
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

export function hasContent(part: ReplyPart): boolean {
  if ((part.type !== 'text' && part.type !== 'reasoning') || part.text !== '') return true
  if (part.opaque === undefined) return false
  // reasoning without text is encrypted; an empty text only matters if it carries a signature of Gemini
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
      const takesText = tools.find(({ name }) => name === tool)?.provider !== undefined && part.invalid === undefined
      // providers only accept an object as input, so the input of a call that wasn't JSON is sent back empty; its
      // result quotes the original. Tools that a provider defines may take a text.
      const kept = takesText || (typeof input === 'object' && input !== null) ? input : {}
      return { type: 'tool-call', toolCallId: id, toolName: tool, input: kept, ...options }
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

/** Whether a text is a remark of an OpenAI model before its answer. */
export function isCommentary(opaque: unknown): boolean {
  const openai = (opaque as { readonly openai?: { readonly phase?: Json } } | undefined)?.openai
  return openai?.phase === 'commentary'
}
