// Inputs and outputs of models and tools as span attributes, in the format of the OpenTelemetry conventions and without
// credentials. Only used with `captureContent`.
import type { ReplyPart } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import type { ToolOutcome } from '../../journal/state/state.ts'
import type { ModelReply, ModelRequest } from '../../models/call-model.ts'
import type { ChatMessage } from '../../journal/entries.ts'
import { redact } from '../../secrets/redact.ts'
import type { SpanAttributes } from './telemetry.ts'

export function requestContent({ instructions, messages }: ModelRequest): SpanAttributes {
  const system = instructions === '' ? undefined : cleanJson([{ type: 'text', content: instructions }])
  return { 'gen_ai.system_instructions': system, 'gen_ai.input.messages': cleanJson(messages.map(toMessage)) }
}

export function replyContent({ parts, finish }: ModelReply): SpanAttributes {
  const message = { role: 'assistant', parts: parts.map(toPart), finish_reason: finish }
  return { 'gen_ai.output.messages': cleanJson([message]) }
}

export function argumentsContent(input: Json): SpanAttributes {
  return { 'gen_ai.tool.call.arguments': cleanJson(input) }
}

export function resultContent(outcome: ToolOutcome | { readonly abandoned: string }): SpanAttributes {
  return { 'gen_ai.tool.call.result': cleanJson(outcomeJson(outcome)) }
}

function toMessage(message: ChatMessage): Json {
  if (message.role === 'user') return { role: 'user', parts: [{ type: 'text', content: message.text }] }
  if (message.role === 'assistant') return { role: 'assistant', parts: message.parts.map(toPart) }
  const parts = message.results.map(({ id, outcome }) => ({
    type: 'tool_call_response',
    id,
    response: outcomeJson(outcome),
  }))
  return { role: 'tool', parts }
}

function outcomeJson(outcome: ToolOutcome | { readonly abandoned: string }): Json {
  if ('result' in outcome) return outcome.result
  return 'unreadable' in outcome ? { unreadable: outcome.unreadable } : { ...outcome }
}

function toPart(part: ReplyPart): Json {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, content: part.text }
    case 'call':
    case 'provider-call':
      return { type: 'tool_call', id: part.id, name: part.tool, arguments: part.input }
    case 'provider-result':
      return { type: 'tool_call_response', id: part.id, response: part.result }
    case 'file':
      return { type: 'file', media_type: part.mediaType }
    case 'source':
    case 'custom': {
      const { opaque: _, ...known } = part
      return known
    }
  }
}

/** Redacts each string, not the JSON text: a pattern that matches across a quote would break the JSON. */
function cleanJson(value: Json): string {
  return JSON.stringify(clean(value, ''))
}

function clean(value: Json, name: string): Json {
  if (typeof value === 'string') return cleanString(value, name)
  if (Array.isArray(value)) return value.map((item: Json) => clean(item, name))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [redact(key), clean(member, key)]))
}

function cleanString(text: string, name: string): string {
  const cleaned = redact(text)
  if (cleaned !== text || name === '') return cleaned
  // members with names like `password` count as credentials
  const assignment = `${name}=${text}`
  return redact(assignment) === assignment ? text : '[redacted]'
}
