// Assembles a streamed reply into the form of a reply in one piece, while its deltas go to a listener. So invalid
// calls, usage and failures are handled by the same code, and the recorded reply is the same.
import { defined } from '../base/options.ts'
import type { Usage } from '../journal/entries.ts'
import { isCommentary } from './messages.ts'
import { brokenStream, isConnectionLost, protocolError, unfinishedStream } from './model-failure.ts'
import type { LanguageModelV4 } from './resolve/resolve-model.ts'

export type OnDelta = (type: 'text' | 'reasoning', text: string) => void

type GeneratedReply = Awaited<ReturnType<LanguageModelV4['doGenerate']>>
type StreamedReply = Awaited<ReturnType<LanguageModelV4['doStream']>>
type StreamPart = StreamedReply extends { stream: ReadableStream<infer Part> } ? Part : never
type Finish = Extract<StreamPart, { type: 'finish' }>
type Metadata = NonNullable<Finish['providerMetadata']>
type WholePart = Extract<GeneratedReply['content'][number], StreamPart>
interface StreamedText {
  readonly type: 'text' | 'reasoning'
  text: string
  providerMetadata?: Metadata
}

/**
 * Rejects with the error in the stream; with `unfinishedStream` (including the usage, if known) if it ends before the
 * reply does; with `brokenStream` if the model object can't stream or violates the protocol. After an abort,
 * `onDelta` is not called any more.
 */
export async function readStreamedReply(
  doStream: () => PromiseLike<StreamedReply>,
  onDelta: OnDelta,
  signal: AbortSignal | undefined,
): Promise<GeneratedReply> {
  const reply = createReply(onDelta)
  try {
    const { stream, request, response } = await doStream()
    reply.opened(request, response)
    for await (const part of stream) {
      signal?.throwIfAborted()
      reply.add(part)
    }
  } catch (error) {
    signal?.throwIfAborted()
    // errors after the end of the reply don't matter
    if (!reply.isWhole()) throw streamFailure(error, reply.hasBegun())
  }
  return reply.whole()
}

interface Reply {
  opened(request: StreamedReply['request'], response: StreamedReply['response']): void
  add(part: StreamPart): void
  hasBegun(): boolean
  isWhole(): boolean
  whole(): GeneratedReply
}

function createReply(onDelta: OnDelta): Reply {
  const content: (StreamedText | WholePart)[] = []
  const open = new Map<string, StreamedText>()
  let warnings: GeneratedReply['warnings'] = []
  let sentRequest: StreamedReply['request']
  let metadata: NonNullable<GeneratedReply['response']> = {}
  let finish: Finish | undefined
  let begun = false

  const openText = (part: {
    readonly type: `${StreamedText['type']}-${string}`
    readonly id: string
  }): StreamedText => {
    const text = open.get(`${textType(part.type)} ${part.id}`)
    if (text) return text
    throw protocolError(`it has a ${part.type} of ${JSON.stringify(part.id)}, which was not started`)
  }
  const add = (part: StreamPart): void => {
    switch (part.type) {
      case 'stream-start':
        warnings = part.warnings
        break
      case 'response-metadata': {
        const { type: _, ...known } = part
        metadata = { ...metadata, ...known }
        break
      }
      case 'text-start':
      case 'reasoning-start': {
        // a reused id starts a new part
        const started: StreamedText = { type: textType(part.type), text: '' }
        content.push(started)
        open.set(`${started.type} ${part.id}`, started)
        mergeMetadata(started, part.providerMetadata)
        break
      }
      case 'text-delta':
      case 'reasoning-delta': {
        const text = openText(part)
        mergeMetadata(text, part.providerMetadata)
        text.text += part.delta
        // commentary is recorded as reasoning, so listeners receive it as reasoning too
        if (part.delta !== '') onDelta(isCommentary(text.providerMetadata) ? 'reasoning' : text.type, part.delta)
        break
      }
      case 'text-end':
      case 'reasoning-end':
        mergeMetadata(openText(part), part.providerMetadata)
        open.delete(`${textType(part.type)} ${part.id}`)
        break
      case 'tool-call':
      case 'tool-result':
      case 'tool-approval-request':
      case 'source':
      case 'file':
      case 'reasoning-file':
        content.push(part)
        break
      case 'custom':
        // a reply in one piece has no mark at the start of a message
        if (!part.kind.endsWith('.message_start')) content.push(part)
        break
      case 'finish':
        finish = part
        break
      case 'error':
        throw new ErrorPart('', { cause: part.error })
      default:
        // partial inputs of calls are ignored
        break
    }
  }
  return {
    opened(request, response) {
      sentRequest = request
      if (response?.headers) metadata = { headers: response.headers }
    },
    add(part) {
      add(part)
      begun ||= part.type !== 'stream-start'
    },
    hasBegun: () => begun,
    isWhole: () => finish !== undefined,
    whole() {
      if (finish === undefined || isCut(finish.finishReason)) throw unfinishedStream(finish && readUsage(finish.usage))
      shareWithinItems(content)
      const { finishReason, usage, providerMetadata } = finish
      return {
        content,
        finishReason,
        usage,
        warnings,
        response: metadata,
        ...defined({ request: sentRequest, providerMetadata }),
      }
    },
  }
}

function textType(type: `${'text' | 'reasoning'}-${string}`): StreamedText['type'] {
  return type.startsWith('text') ? 'text' : 'reasoning'
}

function mergeMetadata(text: StreamedText, metadata: Metadata | undefined): void {
  if (metadata === undefined) return
  const known: Metadata = { ...text.providerMetadata }
  for (const [provider, values] of Object.entries(metadata)) known[provider] = { ...known[provider], ...values }
  text.providerMetadata = known
}

/**
 * Copies metadata from the last summary of a thought to its other summaries. OpenAI sends the encrypted thought with
 * each summary of a reply in one piece, but in a stream only with the last one.
 */
function shareWithinItems(content: readonly { readonly type: string }[]): void {
  const last = new Map<unknown, Metadata>()
  for (const part of content.toReversed() as StreamedText[]) {
    const item = part.type === 'reasoning' ? Object.values(part.providerMetadata ?? {})[0]?.['itemId'] : undefined
    if (item === undefined || part.providerMetadata === undefined) continue
    const shared = last.get(item)
    if (shared === undefined) last.set(item, part.providerMetadata)
    else part.providerMetadata = shared
  }
}

/** After a stream that was cut off without an error, provider packages report their initial finish reason. */
function isCut({ unified, raw }: Finish['finishReason']): boolean {
  return unified === 'interrupted' || (raw === undefined && ['other', 'unknown', 'error'].includes(unified))
}

/** An error that the stream itself reported. */
class ErrorPart extends Error {}

/**
 * The error of a failed try. An error that the server sends in the middle of a reply has no HTTP status; unless it says
 * otherwise, it can be retried, and so can a lost connection. Any other error without a status isn't from the server:
 * the model object can't stream, or can't read the stream.
 */
function streamFailure(thrown: unknown, begun: boolean): unknown {
  const error = thrown instanceof ErrorPart ? thrown.cause : thrown
  const { statusCode, isRetryable } = (error ?? {}) as { readonly statusCode?: number; readonly isRetryable?: boolean }
  if (error instanceof Error && (statusCode !== undefined || isRetryable !== undefined)) return error
  const { message = JSON.stringify(error) } = (error ?? {}) as { readonly message?: string }
  if (/without a finish reason/i.test(message)) return unfinishedStream()
  const wasSent = thrown instanceof ErrorPart && !isProgrammingError(error)
  if (!wasSent && !isConnectionLost(error)) return brokenStream(error, begun)
  return Object.assign(new Error(message), { statusCode: statusCode ?? 200, isRetryable: isRetryable ?? true })
}

/** Errors of the AI SDK and of JavaScript, as opposed to errors sent by a server. */
function isProgrammingError(error: unknown): boolean {
  return error instanceof Error && /^AI_|^(Type|Syntax|Range|Reference)Error$/.test(error.name)
}

function readUsage({ inputTokens, outputTokens }: Finish['usage']): Usage | undefined {
  const { total: input, cacheRead, cacheWrite } = inputTokens
  const { total: output, reasoning } = outputTokens
  if (input === undefined && output === undefined) return undefined
  return { calls: 1, input: input ?? 0, output: output ?? 0, ...defined({ cacheRead, cacheWrite, reasoning }) }
}
