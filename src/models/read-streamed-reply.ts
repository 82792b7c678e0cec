// A streamed reply, put together into what the same model gives in one piece, while somebody listens. Everything after
// that, from calls that aren't JSON to usage and failures, is then the same code for both, and so is what gets
// recorded.
import { defined } from '../base/defined.ts'
import type { Usage } from '../journal/entries.ts'
import { isCommentary } from './messages.ts'
import { brokenStream, isConnectionLost, protocolError, unfinishedStream } from './model-failure.ts'
import type { LanguageModelV4 } from './resolve/resolve-model.ts'

export type OnDelta = (kind: 'text' | 'reasoning', text: string) => void

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
 * Rejects with what broke the stream, also when it ends before the reply does; with a broken stream (which says what
 * was paid for it, if that is known) when the model cannot stream or does not keep to the protocol of streams.
 * Listeners get nothing once the signal has aborted.
 */
export async function readStreamedReply(
  doStream: () => PromiseLike<StreamedReply>,
  hear: OnDelta,
  signal: AbortSignal | undefined,
): Promise<GeneratedReply> {
  const reply = createReply(hear)
  try {
    const { stream, request, response } = await doStream()
    reply.opened(request, response)
    for await (const part of stream) {
      signal?.throwIfAborted()
      reply.add(part)
    }
  } catch (error) {
    signal?.throwIfAborted()
    // what comes after its end adds nothing to a reply
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

function createReply(hear: OnDelta): Reply {
  const content: (StreamedText | WholePart)[] = []
  const open = new Map<string, StreamedText>()
  let warnings: GeneratedReply['warnings'] = []
  let asked: StreamedReply['request']
  let metadata: NonNullable<GeneratedReply['response']> = {}
  let finish: Finish | undefined
  let begun = false

  const spokenBy = (part: {
    readonly type: `${StreamedText['type']}-${string}`
    readonly id: string
  }): StreamedText => {
    const spoken = open.get(`${textType(part.type)} ${part.id}`)
    if (spoken) return spoken
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
        // an id may come again: then it is another part
        const spoken: StreamedText = { type: textType(part.type), text: '' }
        content.push(spoken)
        open.set(`${spoken.type} ${part.id}`, spoken)
        mergeMetadata(spoken, part.providerMetadata)
        break
      }
      case 'text-delta':
      case 'reasoning-delta': {
        const spoken = spokenBy(part)
        mergeMetadata(spoken, part.providerMetadata)
        spoken.text += part.delta
        // remarks before the answer are recorded as thoughts, so listeners get them as such
        if (part.delta !== '') hear(isCommentary(spoken.providerMetadata) ? 'reasoning' : spoken.type, part.delta)
        break
      }
      case 'text-end':
      case 'reasoning-end':
        mergeMetadata(spokenBy(part), part.providerMetadata)
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
        // that a message begins is said only in a stream
        if (!part.kind.endsWith('.message_start')) content.push(part)
        break
      case 'finish':
        finish = part
        break
      case 'error':
        throw new ErrorPart('', { cause: part.error })
      default:
        // partial inputs of calls
        break
    }
  }
  return {
    opened(request, response) {
      asked = request
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
        ...defined({ request: asked, providerMetadata }),
      }
    },
  }
}

function textType(type: `${'text' | 'reasoning'}-${string}`): StreamedText['type'] {
  return type.startsWith('text') ? 'text' : 'reasoning'
}

function mergeMetadata(spoken: StreamedText, metadata: Metadata | undefined): void {
  if (metadata === undefined) return
  const known: Metadata = { ...spoken.providerMetadata }
  for (const [provider, values] of Object.entries(metadata)) known[provider] = { ...known[provider], ...values }
  spoken.providerMetadata = known
}

// OpenAI sends the encrypted form of a thought with its last summary only; in one piece, all summaries of the thought
// have it.
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

// When a stream was cut off without an error, providers report the finish reason that they had set before the first
// piece.
function isCut({ unified, raw }: Finish['finishReason']): boolean {
  return unified === 'interrupted' || (raw === undefined && ['other', 'unknown', 'error'].includes(unified))
}

/** What a part of the stream said. */
class ErrorPart extends Error {}

/**
 * What a try failed with. An error that the server sent in the middle of a reply has no HTTP status: unless it says
 * otherwise, the same request may succeed next time. So it is with a connection that was lost. Anything else that has
 * no status did not come from the server: the model object cannot stream, or cannot read the stream.
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

/** Errors that the AI SDK and JavaScript make, and no server sends. */
function isProgrammingError(error: unknown): boolean {
  return error instanceof Error && /^AI_|^(Type|Syntax|Range|Reference)Error$/.test(error.name)
}

function readUsage({ inputTokens, outputTokens }: Finish['usage']): Usage | undefined {
  const { total: input, cacheRead, cacheWrite } = inputTokens
  const { total: output, reasoning } = outputTokens
  if (input === undefined && output === undefined) return undefined
  return { calls: 1, input: input ?? 0, output: output ?? 0, ...defined({ cacheRead, cacheWrite, reasoning }) }
}
