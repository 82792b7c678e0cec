// A streamed reply, put together into what the same model gives in one piece, while somebody listens. Everything after
// that, from calls that aren't JSON to usage and failures, is then the same code for both, and so is what gets
// recorded.
import { defined } from '../defined.ts'
import { isCommentary } from './messages.ts'
import { unfinishedStream } from './model-failure.ts'
import type { LanguageModelV4 } from './resolve/resolve-model.ts'

export type Hear = (kind: 'text' | 'reasoning', text: string) => void

type Generated = Awaited<ReturnType<LanguageModelV4['doGenerate']>>
type Streamed = Awaited<ReturnType<LanguageModelV4['doStream']>>
type StreamPart = Streamed extends { stream: ReadableStream<infer Part> } ? Part : never
type Finish = Extract<StreamPart, { type: 'finish' }>
type Metadata = NonNullable<Finish['providerMetadata']>
interface Spoken {
  readonly type: 'text' | 'reasoning'
  text: string
  providerMetadata?: Metadata
}

/**
 * Rejects with what broke the stream, also when it ends before the reply does. Listeners get nothing once the signal
 * has aborted.
 */
export async function streamedReply(
  { stream, request, response }: Streamed,
  hear: Hear,
  signal: AbortSignal | undefined,
): Promise<Generated> {
  const content: (Spoken | Extract<StreamPart, { type: 'tool-call' }>)[] = []
  const open = new Map<string, Spoken>()
  let warnings: Generated['warnings'] = []
  let metadata: NonNullable<Generated['response']> = response?.headers ? { headers: response.headers } : {}
  let finish: Finish | undefined

  const begin = (type: Spoken['type'], id: string): Spoken => {
    const spoken: Spoken = { type, text: '' }
    content.push(spoken)
    open.set(`${type} ${id}`, spoken)
    return spoken
  }
  const spokenBy = (type: Spoken['type'], id: string): Spoken => open.get(`${type} ${id}`) ?? begin(type, id)

  for await (const part of stream) {
    signal?.throwIfAborted()
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
      case 'reasoning-start':
        // an id may come again: then it is another part
        learn(begin(kindOf(part.type), part.id), part.providerMetadata)
        break
      case 'text-delta':
      case 'reasoning-delta': {
        const spoken = spokenBy(kindOf(part.type), part.id)
        learn(spoken, part.providerMetadata)
        spoken.text += part.delta
        // remarks before the answer are recorded as thoughts, so listeners get them as such
        if (part.delta !== '') hear(isCommentary(spoken.providerMetadata) ? 'reasoning' : spoken.type, part.delta)
        break
      }
      case 'text-end':
      case 'reasoning-end':
        learn(spokenBy(kindOf(part.type), part.id), part.providerMetadata)
        break
      case 'tool-call':
        content.push(part)
        break
      case 'finish':
        finish = part
        break
      case 'error':
        throw brokenBy(part.error)
      default:
        // partial inputs of calls, sources, files: none of them is recorded
        break
    }
  }
  if (finish === undefined || isCut(finish.finishReason)) throw unfinishedStream()
  shareWithinItems(content)
  const { finishReason, usage, providerMetadata } = finish
  return {
    content,
    finishReason,
    usage,
    warnings,
    response: metadata,
    ...defined({ request, providerMetadata }),
  }
}

function kindOf(type: `${'text' | 'reasoning'}-${string}`): Spoken['type'] {
  return type.startsWith('text') ? 'text' : 'reasoning'
}

function learn(spoken: Spoken, metadata: Metadata | undefined): void {
  if (metadata === undefined) return
  const known: Metadata = { ...spoken.providerMetadata }
  for (const [provider, values] of Object.entries(metadata)) known[provider] = { ...known[provider], ...values }
  spoken.providerMetadata = known
}

// OpenAI sends the encrypted form of a thought with its last summary only; in one piece, all summaries of the thought
// have it.
function shareWithinItems(content: readonly { readonly type: string }[]): void {
  const last = new Map<unknown, Metadata>()
  for (const part of content.toReversed() as Spoken[]) {
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

/**
 * An error in the middle of a reply has no HTTP status: unless it says otherwise, the same request may succeed next
 * time.
 */
function brokenBy(error: unknown): Error {
  const { statusCode, isRetryable } = (error ?? {}) as { readonly statusCode?: number; readonly isRetryable?: boolean }
  if (error instanceof Error && (statusCode !== undefined || isRetryable !== undefined)) return error
  const { message = JSON.stringify(error) } = (error ?? {}) as { readonly message?: string }
  if (/without a finish reason/i.test(message)) return unfinishedStream()
  return Object.assign(new Error(message), { statusCode: statusCode ?? 200, isRetryable: isRetryable ?? true })
}
