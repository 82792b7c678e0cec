// The events of a run as server-sent events, in a web-standard Response: what Hono, Next and Deno take as it is, and
// node:http through Readable.fromWeb. An entry's number is its id, so a client that was cut off says where it was and
// gets the rest. Nothing is read ahead: an event is fetched when the client has taken the one before. A browser comes
// back whenever a stream ends, so that the run rests, and there is nothing to come back for, is an event of its own.
import type { World } from '../../engine/definition.ts'
import type { Followed, Rest } from '../../engine/follow/follow.ts'
import type { RunEvent } from '../../engine/follow/listeners.ts'
import { messageOf, RepriseError } from '../../errors.ts'
import { redact } from '../../secrets/redact.ts'
import { number, optional } from '../../checks.ts'
import { checkKeys, describe } from '../../options.ts'

export interface EventsOptions {
  /** Only entries after this one. */
  readonly after?: number | undefined
}

export interface ResponseOptions extends EventsOptions {
  /** Beside those of an event stream. */
  readonly headers?: ConstructorParameters<typeof Headers>[0]
}

/** A web-standard Request, or one of node:http. */
export interface EventsRequest {
  readonly headers:
    | { get(name: string): string | null }
    | { readonly [name: string]: string | readonly string[] | undefined }
}

export interface ServedRun {
  readonly id: string
  readonly world: Pick<World, 'sleep'>
  follow(after: number): Followed<RunEvent>
  /** Whether the run has ended, and nothing comes after this entry. */
  isOver(after: number): Promise<boolean>
}

const pingMs = 15_000

/** OPTION_INVALID, OPTION_UNKNOWN. */
export function readAfter(options: EventsOptions): number {
  checkKeys('events', options, ['after'])
  return optional('after', options.after, number(0)) ?? 0
}

/**
 * OPTION_INVALID, OPTION_UNKNOWN. With neither a `Last-Event-ID` nor `after`, from the first entry on. A client that
 * has everything of a run that has ended is answered with 204, which is how a browser's EventSource is told not to come
 * back.
 */
export async function eventResponse(
  source: ServedRun,
  request: EventsRequest | undefined,
  options: ResponseOptions,
): Promise<Response> {
  checkKeys('toResponse', options, ['after', 'headers'])
  const asked = optional('after', options.after, number(0))
  const after = lastEventId(request) ?? asked ?? 0
  const headers = readHeaders(options.headers)
  // listening begins with the call
  const events = source.follow(after)
  if (await source.isOver(after)) {
    await events.return?.()
    return new Response(null, { status: 204, headers })
  }
  headers.set('content-type', 'text/event-stream; charset=utf-8')
  headers.set('cache-control', 'no-cache, no-transform')
  // or nginx collects them until there is a page full
  headers.set('x-accel-buffering', 'no')
  return new Response(eventStream(events, source), { headers })
}

function readHeaders(headers: ResponseOptions['headers']): Headers {
  try {
    return new Headers(headers)
  } catch (error) {
    const words = `headers of toResponse is ${describe(headers)}, which cannot be used: ${messageOf(error)}`
    throw new RepriseError('OPTION_INVALID', words)
  }
}

/** What a client says is not to be trusted: anything but a number is as if it had said nothing. */
function lastEventId(request: EventsRequest | undefined): number | undefined {
  if (!request) return undefined
  const { headers } = request
  if (typeof headers !== 'object' || headers === null) {
    throw new RepriseError('OPTION_INVALID', `toResponse takes a request with headers, not ${describe(request)}`)
  }
  const said =
    typeof headers.get === 'function'
      ? headers.get('last-event-id')
      : (headers as { readonly [name: string]: unknown })['last-event-id']
  return typeof said === 'string' && /^\d{1,15}$/.test(said) ? Number(said) : undefined
}

function eventStream(
  events: Followed<RunEvent>,
  { world, id }: Pick<ServedRun, 'world' | 'id'>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  // asked for once, and waited for over as many pings as it takes
  let next: ReturnType<(typeof events)['next']> | undefined
  let silence = new AbortController()
  let opened = false
  let gone = false

  async function text(): Promise<{ readonly words: string; readonly last: boolean }> {
    next ??= events.next()
    silence = new AbortController()
    const silent = world.sleep(pingMs, silence.signal).then(() => 'silent' as const)
    // when it is broken, nobody waits for it any more
    silent.catch(() => {})
    try {
      const event = await Promise.race([next, silent])
      if (event === 'silent') return { words: ': ping\n\n', last: false }
      next = undefined
      return event.done ? { words: endText(event.value), last: true } : { words: eventText(event.value), last: false }
    } finally {
      silence.abort()
    }
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const send = (words: string): void => controller.enqueue(encoder.encode(words))
        if (!opened) {
          opened = true
          // servers send the headers with the first byte
          return send(`: run ${id}\n\n`)
        }
        try {
          const { words, last } = await text()
          if (gone) return
          if (words !== '') send(words)
          if (last) controller.close()
        } catch (error) {
          if (gone) return
          send(frame({ event: 'error', data: JSON.stringify(safeError(error, id)) }))
          controller.close()
        }
      },
      async cancel() {
        gone = true
        silence.abort()
        await events.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

function eventText(event: RunEvent): string {
  return frame({ id: 'seq' in event ? event.seq : undefined, event: event.type, data: JSON.stringify(event) })
}

/** Without a rest, more may come: the client is to come back for it. */
function endText(rest: Rest | undefined): string {
  return rest === undefined ? '' : frame({ event: 'end', data: JSON.stringify({ status: rest }) })
}

/** One event. A line break in the data begins another data line, or the rest would be read as a field of its own. */
function frame({
  id,
  event,
  data,
}: {
  readonly id?: number | undefined
  readonly event: string
  readonly data: string
}): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}`)
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\n${lines.join('\n')}\n\n`
}

/** Errors that are not ours may quote addresses and queries, so they are only said to have happened. */
function safeError(error: unknown, run: string): { readonly code: string; readonly message: string } {
  if (RepriseError.isInstance(error)) return { code: error.code, message: redact(error.facts) }
  return { code: 'STORE_FAILED', message: `the events of run ${run} cannot be read any further` }
}
