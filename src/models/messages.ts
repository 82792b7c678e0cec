// Converts between the journal's own messages and those of the AI SDK. What a provider needs to continue comes in as
// its metadata, is kept as `opaque`, and goes back as its options, so that a request can be made from a journal alone.
import type { ContentPart, ModelMessage, ToolSet } from 'ai'
import type { ChatMessage, ReplyPart, ToolOutcome, ToolRequest } from '../journal/entries.ts'
import { noFiles, type Files } from '../journal/files.ts'
import { throughJson, type Json } from '../journal/json.ts'
import { redact } from '../secrets/redact.ts'
import { userContent } from './user-content.ts'

type AssistantPart = Exclude<Extract<ModelMessage, { role: 'assistant' }>['content'], string>[number]
type ToolPart = Extract<Extract<ModelMessage, { role: 'tool' }>['content'][number], { type: 'tool-result' }>
type ProviderOptions = NonNullable<ModelMessage['providerOptions']>

/** Messages and parts without content are left out, since providers refuse them. */
export function toModelMessages(messages: readonly ChatMessage[], files: Files = noFiles): ModelMessage[] {
  return messages.map((message) => toModelMessage(message, files)).filter((message) => message.content.length > 0)
}

function toModelMessage(message: ChatMessage, files: Files): ModelMessage {
  if (message.role === 'user') return { role: 'user', content: userContent(message.text, message.files ?? [], files) }
  if (message.role === 'assistant') {
    return { role: 'assistant', content: message.parts.filter(saysSomething).map(toAssistantPart) }
  }
  const content = message.results.map(({ id, tool, outcome }): ToolPart => ({
    type: 'tool-result',
    toolCallId: id,
    toolName: tool,
    output: toOutput(outcome),
  }))
  return { role: 'tool', content }
}

function saysSomething(part: ReplyPart): boolean {
  if (part.type === 'call' || part.text !== '') return true
  if (part.opaque === undefined) return false
  // Reasoning without text is its encrypted form. An empty text matters only to Gemini, which signs it.
  return part.type === 'reasoning' || /signature/i.test(JSON.stringify(part.opaque))
}

function toAssistantPart(part: ReplyPart): AssistantPart {
  const options = part.opaque === undefined ? {} : { providerOptions: part.opaque as ProviderOptions }
  if (part.type === 'call') {
    // Providers accept only an object as input, so a call that wasn't JSON goes back empty; its answer quotes what it
    // was.
    const input = typeof part.input === 'object' && part.input !== null ? part.input : {}
    return { type: 'tool-call', toolCallId: part.id, toolName: part.tool, input, ...options }
  }
  return { type: isCommentary(part.opaque) ? 'text' : part.type, text: part.text, ...options }
}

function toOutput(outcome: ToolOutcome): ToolPart['output'] {
  // Many providers have no mark for a failed or denied call, so the text itself has to say which it was.
  if ('error' in outcome) return { type: 'error-text', value: `Error: ${outcome.error || 'the tool did not say why'}` }
  if ('denied' in outcome) {
    return { type: 'execution-denied', reason: `The call was denied by a person and not made: ${outcome.denied}` }
  }
  if ('unreadable' in outcome) {
    const value = `The call was made, but its result could not be read: it holds something that is not JSON (${outcome.unreadable}).`
    return { type: 'text', value }
  }
  const { result } = outcome
  return typeof result === 'string' && result !== ''
    ? { type: 'text', value: result }
    : { type: 'json', value: result as Extract<ToolPart['output'], { type: 'json' }>['value'] }
}

/** What a model said, in order. Sources and files are left out: no provider wants them back. */
export function toReplyParts(content: readonly ContentPart<ToolSet>[], tools: readonly string[]): ReplyPart[] {
  const parts = content.flatMap((part): ReplyPart[] => {
    if (part.type === 'tool-call') return part.providerExecuted === true ? [] : [toToolRequest(part, tools)]
    if (part.type !== 'text' && part.type !== 'reasoning') return []
    const opaque = opaqueOf(part.providerMetadata)
    // OpenAI's models write remarks before the answer, as separate texts. They are thoughts here, or a structured
    // answer would be remarks and JSON in one; toAssistantPart gives them back as what they were.
    const said = { type: isCommentary(opaque.opaque) ? 'reasoning' : part.type, text: part.text, ...opaque } as const
    return saysSomething(said) ? [said] : []
  })
  return parts.reduce<ReplyPart[]>(joined, [])
}

// A text that a server sends in several pieces is one text when it is streamed, so it is one here too.
function joined(parts: ReplyPart[], part: ReplyPart): ReplyPart[] {
  const last = parts.at(-1)
  const goesOn =
    last?.type === part.type && last.type !== 'call' && !last.opaque && part.type !== 'call' && !part.opaque
  return goesOn ? [...parts.slice(0, -1), { ...last, text: last.text + part.text }] : [...parts, part]
}

function toToolRequest(
  part: Extract<ContentPart<ToolSet>, { type: 'tool-call' }>,
  tools: readonly string[],
): ToolRequest {
  const input = throughJson(part.input, 'input')
  const request = {
    type: 'call',
    id: part.toolCallId,
    tool: part.toolName,
    input: input.ok ? input.value : null,
    ...opaqueOf(part.providerMetadata),
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

function opaqueOf(metadata: unknown): { readonly opaque?: Json } {
  if (metadata === undefined || metadata === null) return {}
  const json = throughJson(metadata, 'opaque')
  return json.ok && JSON.stringify(json.value) !== '{}' ? { opaque: json.value } : {}
}

/** Whether a text is a remark that an OpenAI model makes before its answer. */
export function isCommentary(opaque: unknown): boolean {
  const openai = (opaque as { readonly openai?: { readonly phase?: Json } } | undefined)?.openai
  return openai?.phase === 'commentary'
}
