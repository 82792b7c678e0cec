// The SDK's transports over HTTP, with a fetch that adds what they lack: a request whose stream ends without an answer
// is answered with an error (the SDK would wait forever), an aborted call is cancelled at the server, and no socket
// stays open between calls.
import { lostAnswer, type HttpTransport, type Message } from './mcp-client.ts'
import type { HttpServer } from './mcp-server.ts'
import { cancelled } from './stdio-transport.ts'

/** Events of the connection during calls. */
export interface ConnectionEvents {
  /** The server does not know the session, so it did not process the request. */
  expired(): void
  /** The next call should open a new connection. */
  gone(how: string): void
}

const patience = 2000
/** The last version of the protocol in which closing the connection does not cancel a request. */
const lastVersionWithNotice = '2025-11-25'

/** `quiet` resolves when no cancellation is being sent. */
export function httpTransport(
  { url, headers = {}, type = 'http' }: HttpServer,
  events: ConnectionEvents,
): { readonly transport: HttpTransport; quiet(): Promise<unknown> } {
  const requestIds = new Set<string | number>()
  const notices = new Set<Promise<unknown>>()

  const watched: typeof fetch = async (address, init = {}) => {
    const { method = 'GET' } = init
    // This stream has the messages that are not answers. None of them is used, and it would keep the process alive.
    if (method === 'GET' && type === 'http') return new Response(null, { status: 405 })
    const requestHeaders = new Headers(init.headers)
    // A server may close a kept-alive connection while the next call is sent. It would then be unknown whether a `once`
    // call happened.
    requestHeaders.set('connection', 'close')
    const request = requestIn(init.body)
    if (request) requestIds.add(request.id)
    const isCall = request?.method === 'tools/call'
    if (isCall && (type === 'sse' || (requestHeaders.get(versionHeader) ?? '') <= lastVersionWithNotice)) {
      const cancel = (): void => {
        const body = JSON.stringify(cancelled(request.id))
        const signal = AbortSignal.timeout(patience)
        const notice = fetch(address, { method: 'POST', headers: requestHeaders, body, signal, redirect: 'error' })
          .then((response) => response.body?.cancel())
          .catch(() => undefined)
          .finally(() => notices.delete(notice))
        notices.add(notice)
      }
      init.signal?.addEventListener('abort', cancel, { once: true })
    }
    const signal = method === 'DELETE' ? AbortSignal.timeout(patience) : (init.signal ?? null)
    const response = await fetch(address, { ...init, headers: requestHeaders, signal })
    if (isCall && response.status === 404 && requestHeaders.has(sessionHeader)) events.expired()
    if (isCall && [400, 404].includes(response.status)) events.gone(`it answered with HTTP ${response.status}`)
    if (!response.ok || !response.body || !response.headers.get('content-type')?.includes('text/event-stream'))
      return response
    const idsToAnswer = request ? () => [request.id] : () => requestIds
    const body = ReadableStream.from(
      withMissingAnswers(response.body, idsToAnswer, () => request ?? events.gone('its stream ended')),
    )
    return new Response(body as ConstructorParameters<typeof Response>[0], {
      status: response.status,
      headers: response.headers,
    })
  }
  return { transport: { type, url, headers: { ...headers }, fetch: watched }, quiet: () => Promise.all(notices) }
}

const versionHeader = 'mcp-protocol-version'
const sessionHeader = 'mcp-session-id'

/** Answers each request with an error when the stream ends. The SDK ignores this for requests with an answer. */
async function* withMissingAnswers(
  body: ReadableStream<Uint8Array>,
  idsToAnswer: () => Iterable<string | number>,
  ended: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch {
    // a connection that breaks ends the stream too
  }
  ended()
  const answers = [...idsToAnswer()].map((id) => `data: ${JSON.stringify(lostAnswer(id, 'its stream ended'))}\n\n`)
  // the blank line ends an event of which only a part arrived
  yield new TextEncoder().encode(`\n\n${answers.join('')}`)
}

function requestIn(body: unknown): (Message & { readonly id: string | number }) | undefined {
  if (typeof body !== 'string') return undefined
  const message = JSON.parse(body) as Message
  return message.id !== undefined && message.method !== undefined ? { ...message, id: message.id } : undefined
}
