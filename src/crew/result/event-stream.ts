// The events of a run as server-sent events, in a web-standard Response: for Hono, Next and Deno as is, for node:http
// through Readable.fromWeb. The id of an event is the number of its entry, so that a reconnecting client receives only
// the rest. Since browsers reconnect whenever a stream ends, two additional events mark states: `caught-up` when the
// history is over, and `end` when the run rests and no more events will come.
import type { World } from '../../engine/definition.ts'
import type { EventIterator, RestStatus } from '../../read/follow.ts'
import type { CaughtUpEvent, RunEvent } from '../../read/listeners.ts'
import type { TreeQuestion } from '../../engine/task/children.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import { flag, number, optional, checkKeys, describe } from '../../base/options.ts'

export interface EventsOptions {
  /** Only entries after this one. Default: 0, the whole journal. */
  readonly after?: number | undefined
  /**
   * Whether to send a `caught-up` event after the history, if the run is still executing then. For a run at rest, the
   * stream simply ends. Default: false.
   */
  readonly caughtUp?: boolean | undefined
}

/**
 * Events of a run. The final `next()` returns how the run rests, or undefined if the store was closed and more events
 * may come.
 */
export type RunEvents<Event = RunEvent> = EventIterator<Event>

export interface ResponseOptions extends Pick<EventsOptions, 'after'> {
  /** Additional headers. */
  readonly headers?: ConstructorParameters<typeof Headers>[0]
}

/** A web-standard Request, or a node:http request. */
export interface EventsRequest {
  readonly method?: string | undefined
  readonly headers:
    | { get(name: string): string | null }
    | { readonly [name: string]: string | readonly string[] | undefined }
}

export interface RunSource {
  readonly id: string
  readonly world: Pick<World, 'sleep'>
  /** Includes the `caught-up` event. */
  follow(after: number): RunEvents<RunEvent | CaughtUpEvent>
  /** Whether the run has ended and has no entry after this one. */
  isOver(after: number): Promise<boolean>
  /** Returns all questions of the child runs, open or not. */
  asked(): Promise<readonly TreeQuestion[]>
}

/** Checks the options of `events`. Throws OPTION_INVALID or OPTION_UNKNOWN. */
export function readEventsOptions(options: EventsOptions): { readonly after: number; readonly marked: boolean } {
  checkKeys('events', options, ['after', 'caughtUp'])
  const after = optional('after', options.after, number(0)) ?? 0
  return { after, marked: optional('caughtUp', options.caughtUp, flag) ?? false }
}

/**
 * Returns the response of `toResponse`. Its events start after `Last-Event-ID`, else after `after`, else at the first
 * entry. If the run has ended and the client has received everything, its status is 204, which makes an EventSource
 * stop reconnecting. Rejects with OPTION_INVALID or OPTION_UNKNOWN.
 */
export async function eventResponse(
  source: Omit<RunSource, 'asked'>,
  request: EventsRequest | undefined,
  options: ResponseOptions,
): Promise<Response> {
  checkKeys('toResponse', options, ['after', 'headers'])
  const asked = optional('after', options.after, number(0))
  const after = lastEventId(request) ?? asked ?? 0
  const headers = responseHeaders('toResponse', options.headers)
  // subscribe before the check below, so that no event is missed
  const events = source.follow(after)
  if (await source.isOver(after)) {
    await events.return?.()
    return new Response(null, { status: 204, headers })
  }
  eventHeaders(headers)
  const { id, world } = source
  const errorText = (error: unknown): string =>
    eventFrame({ event: 'error', data: JSON.stringify(publicError(error, id)) })
  const sleep = (ms: number, signal: AbortSignal): Promise<void> => world.sleep(ms, signal)
  const body = eventBody({ events, opening: `run ${id}`, text: eventText, endText, errorText, sleep })
  return new Response(body, { headers })
}

/** Sets the headers of an event stream. */
export function eventHeaders(headers: Headers): void {
  headers.set('content-type', 'text/event-stream; charset=utf-8')
  headers.set('cache-control', 'no-cache, no-transform')
  // without it, nginx buffers events
  headers.set('x-accel-buffering', 'no')
}

export function responseHeaders(method: string, headers: ResponseOptions['headers']): Headers {
  try {
    return new Headers(headers)
  } catch (error) {
    const words = `headers of ${method} is ${describe(headers)}, which cannot be used: ${messageOf(error)}`
    throw new RepriseError('OPTION_INVALID', words)
  }
}

/** Returns the `Last-Event-ID` of a request. Clients are not trusted: anything but a number is ignored. */
export function lastEventId(request: EventsRequest | undefined): number | undefined {
  if (!request) return undefined
  const { headers } = request
  if (typeof headers !== 'object' || headers === null) {
    throw new RepriseError('OPTION_INVALID', `toResponse takes a request with headers, not ${describe(request)}`)
  }
  const header =
    typeof headers.get === 'function'
      ? headers.get('last-event-id')
      : (headers as { readonly [name: string]: unknown })['last-event-id']
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}

function eventText(event: RunEvent | CaughtUpEvent): string {
  return eventFrame({ id: 'seq' in event ? event.seq : undefined, event: event.type, data: JSON.stringify(event) })
}

/** Returns the `end` event. Without a rest status, more events may come, so the client should reconnect. */
function endText(rest: RestStatus | undefined): string {
  return rest === undefined ? '' : eventFrame({ event: 'end', data: JSON.stringify({ status: rest }) })
}

/**
 * Returns what clients may see of an error. Errors of other libraries may contain URLs or queries, so their message is
 * left out.
 */
export function publicError(error: unknown, run: string): { readonly code: string; readonly message: string } {
  if (RepriseError.isInstance(error)) return { code: error.code, message: redact(error.facts) }
  return { code: 'STORE_FAILED', message: `the events of run ${run} cannot be read any further` }
}

/**
 * Returns an iterator whose source is opened by the first `next()`. `return()` ends a wait at once, even while the
 * source is being opened.
 */
export function lazyIterator<Event, End>(
  open: () => Promise<AsyncIterableIterator<Event, End>>,
): AsyncIterableIterator<Event, End | undefined> {
  let source: Promise<AsyncIterableIterator<Event, End>> | undefined
  let returned = false
  return {
    async next() {
      if (returned) return { done: true, value: undefined }
      source ??= open()
      return (await source).next()
    },
    async return() {
      returned = true
      await (await source?.catch(() => undefined))?.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

const pingMs = 15_000

interface BodySource<Event, End> {
  readonly events: AsyncIterator<Event, End>
  /** Text of the first comment. Servers only send the headers together with the first byte. */
  readonly opening: string
  /** Returns the text to send for an event; an empty string sends nothing. */
  text(event: Event): string
  /** Returns the text to send at the end. */
  endText(end: End): string
  errorText(error: unknown): string
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/**
 * Returns the body of a response with server-sent events. It reads no events ahead: the next one is fetched when the
 * client has taken the previous one, so that a slow client costs no memory. Regular comments keep proxies from closing
 * a silent connection. When the client disconnects, following ends at once.
 */
export function eventBody<Event, End>(source: BodySource<Event, End>): ReadableStream<Uint8Array> {
  const { events, opening } = source
  const encoder = new TextEncoder()
  // requested once, and awaited across any number of pings
  let next: Promise<IteratorResult<Event, End>> | undefined
  let pingTimer = new AbortController()
  let opened = false
  let disconnected = false

  async function nextText(): Promise<{ readonly words: string; readonly last: boolean }> {
    next ??= events.next()
    pingTimer = new AbortController()
    const ping = source.sleep(pingMs, pingTimer.signal).then(() => 'ping' as const)
    // the abort below rejects this promise
    ping.catch(() => {})
    try {
      const event = await Promise.race([next, ping])
      if (event === 'ping') return { words: ': ping\n\n', last: false }
      next = undefined
      return event.done
        ? { words: source.endText(event.value), last: true }
        : { words: source.text(event.value), last: false }
    } finally {
      pingTimer.abort()
    }
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const send = (words: string): void => controller.enqueue(encoder.encode(words))
        if (!opened) {
          opened = true
          return send(`: ${opening}\n\n`)
        }
        try {
          // a pull must enqueue something, or the stream would not pull again
          for (;;) {
            const { words, last } = await nextText()
            if (disconnected) return
            if (words !== '') send(words)
            if (last) return controller.close()
            if (words !== '') return
          }
        } catch (error) {
          if (disconnected) return
          send(source.errorText(error))
          controller.close()
        }
      },
      async cancel() {
        disconnected = true
        pingTimer.abort()
        await events.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Formats one event. Each line of the data gets its own `data:` field; otherwise it would be read as another field. */
export function eventFrame({
  id,
  event,
  data,
}: {
  readonly id?: number | undefined
  readonly event?: string
  readonly data: string
}): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}`)
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}${lines.join('\n')}\n\n`
}
