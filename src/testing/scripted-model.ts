// A model that replies from a script. Its reply depends on the conversation and not on the number of calls, so a
// process that resumes a run gets the same replies, wherever the run was interrupted.
import { createHash } from 'node:crypto'
import { RepriseError } from '../base/errors.ts'
import type { Json } from '../journal/json.ts'
import { describe } from '../base/options.ts'
import type { LanguageModelV4 } from '../models/resolve/resolve-model.ts'

/** One reply of a script, and its conditions. */
export interface ScriptEntry {
  /**
   * A string or pattern that occurs in the conversation (instructions and all messages), or a function that decides.
   */
  readonly when: string | RegExp | ((conversation: string) => boolean)
  /** Number of tool results in the conversation, or a string or pattern that occurs in the last message. */
  readonly after?: number | string | RegExp
  /** The tools to call. Without `after`, the entry is skipped once the conversation has these calls. */
  readonly calls?: readonly { readonly tool: string; readonly input: Json }[]
  /** Repeats the same calls, for tests of an agent that never stops. */
  readonly repeat?: boolean
  /** The reply. Any value but a string is sent as JSON. */
  readonly reply?: Json | ((conversation: string) => Json)
  /** Tokens to report. Default: estimated from the length of the conversation and the reply. */
  readonly usage?: { readonly input?: number; readonly output?: number }
  /** Fails the call: with a message (not retried), or like a server, with a status and Retry-After in seconds. */
  readonly error?: string | { readonly status: number; readonly message?: string; readonly retryAfter?: number }
}

/** A call of the model. */
export interface ScriptedCall {
  readonly conversation: string
  readonly instructions: string
  readonly lastMessage: string
  readonly tools: readonly string[]
  /** The JSON Schema of the requested output. */
  readonly output?: unknown
  /** Index of the entry that matched; undefined if none did. */
  readonly entry?: number
}

export type ScriptedModel = LanguageModelV4 & { readonly calls: readonly ScriptedCall[] }

/**
 * Creates a language model of the AI SDK that replies with the first entry that matches. If none does, the call fails,
 * without retries, with an error that shows the last message and the script's patterns. Throws OPTION_INVALID if the
 * script is invalid.
 *
 * ```ts
 * const model = scriptedModel([
 *   { when: /facts from/, calls: [{ tool: 'lookup_policy', input: { number: 'P-77' } }] },
 *   { when: /facts from/, reply: { policy: 'P-77', issue: 'water' } },
 *   { when: 'triage note', reply: 'Urgent.' },
 * ])
 * ```
 */
export function scriptedModel(script: readonly ScriptEntry[], options: { readonly name?: string } = {}): ScriptedModel {
  if (!Array.isArray(script))
    throw new RepriseError('OPTION_INVALID', `a script is ${describe(script)}; give a list of entries`)
  script.forEach(checkEntry)
  const calls: ScriptedCall[] = []
  const modelId = options.name ?? 'script'
  const doGenerate: LanguageModelV4['doGenerate'] = async (request) => {
    const conversation = readConversation(request.prompt)
    const index = script.findIndex((entry) => matches(entry, conversation))
    calls.push({
      ...conversation.asked,
      tools: (request.tools ?? []).map((tool) => tool.name),
      ...(request.responseFormat?.type === 'json' && { output: request.responseFormat.schema }),
      ...(index >= 0 && { entry: index }),
    })
    const entry = script[index]
    if (entry === undefined) throw noMatchError(script, conversation, modelId)
    if (entry.error !== undefined) throw await scriptedError(entry.error)
    return { ...answer(entry, conversation), response: { modelId }, warnings: [] }
  }
  return {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId,
    supportedUrls: {},
    calls,
    doGenerate,
    doStream: async (request) => ({ stream: streamOf(await doGenerate(request)) }),
  }
}

type Generated = Awaited<ReturnType<LanguageModelV4['doGenerate']>>
type StreamPart =
  Awaited<ReturnType<LanguageModelV4['doStream']>> extends { stream: ReadableStream<infer Each> } ? Each : never

function checkEntry(entry: ScriptEntry, index: number): void {
  if (entry.calls !== undefined || entry.reply !== undefined || entry.error !== undefined) return
  throw new RepriseError(
    'OPTION_INVALID',
    `entry ${index} of a script has no calls, reply or error: give it one of them`,
  )
}

function matches(entry: ScriptEntry, conversation: Conversation): boolean {
  const { when, after, calls, repeat } = entry
  const { asked, results, made } = conversation
  if (typeof when === 'function' ? !when(asked.conversation) : !contains(asked.conversation, when)) return false
  if (typeof after === 'number') return results === after
  if (after !== undefined) return contains(asked.lastMessage, after)
  if (calls === undefined || calls.length === 0 || repeat === true) return true
  return !calls.every((call) => made.includes(callText(call)))
}

// search instead of test: a pattern with the flag g would continue where its last match ended
function contains(text: string, pattern: string | RegExp): boolean {
  return typeof pattern === 'string' ? text.includes(pattern) : text.search(pattern) !== -1
}

function answer(entry: ScriptEntry, conversation: Conversation): Omit<Generated, 'warnings' | 'response'> {
  const { conversation: asked } = conversation.asked
  const reply = typeof entry.reply === 'function' ? entry.reply(asked) : entry.reply
  const text = reply === undefined ? '' : typeof reply === 'string' ? reply : JSON.stringify(reply)
  const digest = createHash('sha256').update(asked).digest('hex').slice(0, 12)
  const calls = (entry.calls ?? []).map(({ tool, input }, index) => ({
    type: 'tool-call' as const,
    toolCallId: `call_${digest}_${index}`,
    toolName: tool,
    input: JSON.stringify(input),
  }))
  const output = text.length + calls.reduce((length, call) => length + call.input.length, 0)
  return {
    content: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls],
    finishReason: { unified: calls.length > 0 ? 'tool-calls' : 'stop', raw: undefined },
    usage: usageOf(entry.usage?.input ?? tokens(asked.length), entry.usage?.output ?? tokens(output)),
  }
}

function usageOf(input: number, output: number): Generated['usage'] {
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning: undefined },
  }
}

function tokens(characters: number): number {
  return Math.ceil(characters / 4)
}

function streamOf(result: Generated): ReadableStream<StreamPart> {
  const parts: StreamPart[] = [{ type: 'stream-start', warnings: [] }]
  for (const [index, part] of result.content.entries()) {
    if (part.type === 'tool-call') parts.push(part)
    if (part.type !== 'text') continue
    const id = String(index)
    parts.push({ type: 'text-start', id })
    for (const delta of part.text.match(/\s*\S+\s*/g) ?? [part.text]) parts.push({ type: 'text-delta', id, delta })
    parts.push({ type: 'text-end', id })
  }
  parts.push({ type: 'finish', usage: result.usage, finishReason: result.finishReason })
  return ReadableStream.from(parts)
}

async function scriptedError(error: NonNullable<ScriptEntry['error']>): Promise<Error> {
  if (typeof error === 'string') return permanentError(error)
  const { APICallError } = await import('ai')
  return new APICallError({
    message: error.message ?? `scripted status ${error.status}`,
    url: 'scripted:',
    requestBodyValues: {},
    statusCode: error.status,
    ...(error.retryAfter !== undefined && { responseHeaders: { 'retry-after': String(error.retryAfter) } }),
  })
}

function noMatchError(script: readonly ScriptEntry[], { asked, results }: Conversation, name: string): Error {
  const entries = script.map(({ when, after }, index) => {
    const condition = after === undefined ? '' : ` after ${String(after)}`
    return `  ${index}: ${typeof when === 'string' ? JSON.stringify(when) : String(when)}${condition}`
  })
  return permanentError(
    `no entry of the scripted model ${name} matches a conversation with ${results} tool results whose last message is\n` +
      `  ${JSON.stringify(asked.lastMessage.slice(0, 500))}\nThe script has\n${entries.join('\n')}\n` +
      `(an entry with calls and no after is skipped once its calls were made; repeat: true makes them again)`,
  )
}

function callText(call: { readonly tool: string; readonly input: Json }): string {
  return `${call.tool}(${JSON.stringify(call.input)})`
}

/** An error that the AI SDK doesn't retry. */
function permanentError(message: string): Error {
  return Object.assign(new Error(message), { isRetryable: false })
}

export interface Conversation {
  readonly asked: { readonly conversation: string; readonly instructions: string; readonly lastMessage: string }
  /** Number of tool results. */
  readonly results: number
  /** The model's calls, as `tool({"its":"input"})`. */
  readonly made: readonly string[]
}

type Prompt = Parameters<LanguageModelV4['doGenerate']>[0]['prompt']
type Part = Exclude<Prompt[number]['content'], string>[number]
type Result = Extract<Part, { type: 'tool-result' }>

export function readConversation(prompt: Prompt): Conversation {
  const texts = prompt.map((message) => ({
    role: message.role,
    text:
      typeof message.content === 'string' ? message.content : message.content.map(partText).filter(Boolean).join('\n'),
  }))
  const parts = prompt.flatMap((message): readonly Part[] =>
    typeof message.content === 'string' ? [] : message.content,
  )
  return {
    asked: {
      conversation: texts.map(({ text }) => text).join('\n\n'),
      instructions: texts
        .filter(({ role }) => role === 'system')
        .map(({ text }) => text)
        .join('\n\n'),
      lastMessage: texts.at(-1)?.text ?? '',
    },
    results: parts.filter((part) => part.type === 'tool-result').length,
    made: parts.filter((part) => part.type === 'tool-call').map(partText),
  }
}

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text
    case 'file':
      return `<file ${part.filename ?? ''} ${part.mediaType}>`
    case 'tool-call':
      return `${part.toolName}(${JSON.stringify(part.input)})`
    case 'tool-result': {
      const { output } = part
      if (output.type === 'execution-denied') return output.reason ?? 'denied'
      if (output.type === 'content') return output.value.map(contentText).join('\n')
      return typeof output.value === 'string' ? output.value : JSON.stringify(output.value)
    }
    default:
      return ''
  }
}

function contentText(part: Extract<Result['output'], { type: 'content' }>['value'][number]): string {
  if (part.type === 'text') return part.text
  return part.type === 'file' ? `<file ${part.filename ?? ''} ${part.mediaType}>` : ''
}
