// Runs for `useChat` of the AI SDK, and for other readers of UI messages: one assistant message that grows. A turn of a
// conversation is one message, too.
import type { Conversation } from '../../crew/chat/conversation.ts'
import { answerId, answerStep } from '../../runs/turn-names.ts'
import type { Run } from '../../crew/run.ts'
import {
  eventBody,
  eventFrame,
  eventHeaders,
  lastEventId,
  responseHeaders,
  type EventsRequest,
  type ResponseOptions,
  type RunSource,
} from '../../crew/result/event-stream.ts'
import { anyText, number, optional, checkKeys } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import { chunkWriter, type RunChunk } from './chunk-writer.ts'
import { readExpose, type ExposeOptions, type Exposure } from '../expose.ts'
import { createNarration } from '../narration.ts'
import { requestedTurn, turnPieces, type PostedMessages } from './turn-stream.ts'
import { followRun, streamOf, writeRun, type FollowedRun } from '../write-run.ts'

export interface UIStreamOptions {
  /**
   * The last entry that the reader's message has: `lastEntryNumber(message)`. The stream continues the message from
   * there. Default: from the beginning.
   */
  readonly after?: number | undefined
  /** Default: `run-` and the id of the run. */
  readonly messageId?: string | undefined
  /** What the page is shown. `true`: everything. Default: `{}`, which stands for the default of each option. */
  readonly expose?: ExposeOptions | boolean | undefined
}

export type UIResponseOptions = UIStreamOptions & Pick<ResponseOptions, 'headers'>

/**
 * Streams the run as chunks of one assistant message until it rests. Listening begins with the call. Throws
 * OPTION_INVALID or OPTION_UNKNOWN.
 */
export function toUIMessageStream(run: Run, options: UIStreamOptions = {}): ReadableStream<RunChunk> {
  const read = readOptions('toUIMessageStream', options, ['after', 'messageId', 'expose'])
  return streamOf(uiPieces(run.id, followRun(run, read.exposure), read))
}

/**
 * Streams a conversation. For a POST of `useChat`, sends its last message, or the answers in it, and streams that turn.
 * The message of the page has an id, so a POST that is sent again is the same message. For a GET, streams the turn in
 * progress; the status is 204 if there is none. Pass the body instead of the request if you have read it. Rejects with
 * INPUT_INVALID for a body that `useChat` did not send.
 */
export async function toUIMessageResponse(
  conversation: Conversation,
  request: EventsRequest | PostedMessages,
  options?: Omit<UIResponseOptions, 'after' | 'messageId'>,
): Promise<Response>
/**
 * Returns the chunks of `toUIMessageStream` as a Response, for `DefaultChatTransport`. Pass the request to continue
 * where a client stopped (`Last-Event-ID`). The status is 204 if there is nothing to resume: the client has all of an
 * ended run, or a GET asks for a run that doesn't exist. For other requests, rejects with RUN_NOT_FOUND if the run
 * doesn't exist. Rejects with OPTION_INVALID or OPTION_UNKNOWN for bad options.
 */
export async function toUIMessageResponse(
  run: Run,
  request?: EventsRequest,
  options?: UIResponseOptions,
): Promise<Response>
export async function toUIMessageResponse(
  source: Run | Conversation,
  request?: EventsRequest | PostedMessages,
  options: UIResponseOptions = {},
): Promise<Response> {
  // recognised by a member: this module must not import the library, since pages import it, too
  if ('~settle' in source) return conversationResponse(source, request, options)
  return runResponse(source, request as EventsRequest | undefined, options)
}

async function runResponse(
  run: Run,
  request: EventsRequest | undefined,
  options: UIResponseOptions,
): Promise<Response> {
  const read = readOptions('toUIMessageResponse', options, ['after', 'messageId', 'expose', 'headers'])
  const headers = responseHeaders('toUIMessageResponse', options.headers)
  const after = options.after === undefined ? (lastEventId(request) ?? 0) : read.after
  const served = await run['~served']().catch((error: unknown) => {
    // the page was opened before the run existed
    if (request?.method === 'GET' && RepriseError.isInstance(error) && error.code === 'RUN_NOT_FOUND') return undefined
    throw error
  })
  if (!served) return new Response(null, { status: 204, headers })
  const followed = followRun(run, read.exposure)
  if (after > 0 && (await served.isOver(after))) {
    await followed.events.return?.()
    return new Response(null, { status: 204, headers })
  }
  headers.set('x-vercel-ai-ui-message-stream', 'v1')
  const pieces = uiPieces(run.id, followed, { ...read, after })
  return piecesResponse(served, pieces, { headers, last: eventFrame({ data: '[DONE]' }) })
}

function uiPieces(
  run: string,
  followed: FollowedRun,
  { after, messageId = `run-${run}`, exposure, step }: UIStreamRequest,
): ReturnType<typeof writeRun<RunChunk>> {
  const narration = createNarration(run, exposure, step)
  return writeRun(followed, narration, chunkWriter(narration, messageId), after)
}

/** Sends the chunks of an entry together: a page that renders in between would flicker. */
export function piecesResponse(
  { id, world }: Pick<RunSource, 'id' | 'world'>,
  events: AsyncIterableIterator<readonly object[], undefined>,
  { headers, last }: { readonly headers: Headers; readonly last: string },
): Response {
  eventHeaders(headers)
  const body = eventBody({
    events,
    opening: `run ${id}`,
    text: (pieces) => pieces.map((piece) => eventFrame({ data: JSON.stringify(piece) })).join(''),
    endText: () => last,
    // the writer reports failures itself
    errorText: () => '',
    sleep: (ms, signal) => world.sleep(ms, signal),
  })
  return new Response(body, { headers })
}

interface UIStreamRequest {
  readonly after: number
  readonly messageId: string | undefined
  readonly exposure: Exposure
  /** A turn of a conversation. */
  readonly step?: string
}

async function conversationResponse(
  conversation: Conversation,
  given: EventsRequest | PostedMessages | undefined,
  options: UIResponseOptions,
): Promise<Response> {
  const { exposure } = readOptions('toUIMessageResponse', options, ['expose', 'headers'])
  const headers = responseHeaders('toUIMessageResponse', options.headers)
  const asked = await requestedTurn(conversation, given)
  if (!asked) return new Response(null, { status: 204, headers })
  headers.set('x-vercel-ai-ui-message-stream', 'v1')
  const { world } = conversation['~chat']['~open']
  const pieces = turnPieces(conversation, asked, exposure, (run, turn, followed) =>
    uiPieces(run, followed, { after: asked.after, messageId: answerId(turn), exposure, step: answerStep(turn) }),
  )
  return piecesResponse({ id: conversation.id, world }, pieces, { headers, last: eventFrame({ data: '[DONE]' }) })
}

function readOptions(functionName: string, options: UIResponseOptions, keys: readonly string[]): UIStreamRequest {
  checkKeys(functionName, options, keys)
  return {
    after: optional('after', options.after, number(0)) ?? 0,
    messageId: optional('messageId', options.messageId, anyText),
    exposure: readExpose(options.expose),
  }
}
