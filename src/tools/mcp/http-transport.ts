// The SDK's transports over HTTP, with a fetch that adds what they lack: a request whose stream ends without an answer
// is answered (the SDK would wait forever), an abandoned request is cancelled at the server, and no socket stays open
// between calls.
import { lost, type HttpTransport, type Message } from './mcp-client.ts'
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
/** The last version in which a closed connection does not itself cancel a request. */
const lastWithNotice = '2025-11-25'

/** `quiet` settles when no cancellation is in progress. */
export function httpTransport(
  { url, headers = {}, type = 'http' }: HttpServer,
  heard: ConnectionEvents,
): { readonly transport: HttpTransport; quiet(): Promise<unknown> } {
  const asked = new Set<string | number>()
  const notices = new Set<Promise<unknown>>()

  const watched: typeof fetch = async (address, init = {}) => {
    const { method = 'GET' } = init
    // The stream for messages that are not answers. Nothing in it is used here, and it would keep the process alive.
    if (method === 'GET' && type === 'http') return new Response(null, { status: 405 })
    const sent = new Headers(init.headers)
    // The server may close a kept connection at the moment of the next call: for a `once` tool, a needless doubt.
    sent.set('connection', 'close')
    const request = requestIn(init.body)
    if (request) asked.add(request.id)
    const isCall = request?.method === 'tools/call'
    if (isCall && (type === 'sse' || (sent.get(versionHeader) ?? '') <= lastWithNotice)) {
      const cancel = (): void => {
        const body = JSON.stringify(cancelled(request.id))
        const signal = AbortSignal.timeout(patience)
        const notice = fetch(address, { method: 'POST', headers: sent, body, signal, redirect: 'error' })
          .then((response) => response.body?.cancel())
          .catch(() => undefined)
          .finally(() => notices.delete(notice))
        notices.add(notice)
      }
      init.signal?.addEventListener('abort', cancel, { once: true })
    }
    const signal = method === 'DELETE' ? AbortSignal.timeout(patience) : (init.signal ?? null)
    const response = await fetch(address, { ...init, headers: sent, signal })
    if (isCall && response.status === 404 && sent.has(sessionHeader)) heard.expired()
    if (isCall && [400, 404].includes(response.status)) heard.gone(`it answered with HTTP ${response.status}`)
    if (!response.ok || !response.body || !response.headers.get('content-type')?.includes('text/event-stream'))
      return response
    const waiting = request ? () => [request.id] : () => asked
    const body = ReadableStream.from(
      withMissingAnswers(response.body, waiting, () => request ?? heard.gone('its stream ended')),
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

/**
 * Adds an answer for each request that the stream left unanswered. Answered requests ignore it.
 */
async function* withMissingAnswers(
  body: ReadableStream<Uint8Array>,
  waiting: () => Iterable<string | number>,
  ended: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch {
    // a connection that breaks ends the stream too
  }
  ended()
  const answers = [...waiting()].map((id) => `data: ${JSON.stringify(lost(id, 'its stream ended'))}\n\n`)
  // the empty line ends an event that was cut in two
  yield new TextEncoder().encode(`\n\n${answers.join('')}`)
}

function requestIn(body: unknown): (Message & { readonly id: string | number }) | undefined {
  if (typeof body !== 'string') return undefined
  const message = JSON.parse(body) as Message
  return message.id !== undefined && message.method !== undefined ? { ...message, id: message.id } : undefined
}
