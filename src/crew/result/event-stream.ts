// The events of a run as server-sent events, in a web-standard Response: what Hono, Next and Deno take as it is, and
// node:http through Readable.fromWeb. An entry's number is its id, so a client that was cut off says where it was and
// gets the rest. A browser comes back whenever a stream ends, so that the run rests, and there is nothing to come back
// for, is an event of its own; and so is that history is over, and what follows is new.
import type { World } from '../../engine/definition.ts'
import type { EventIterator, RestStatus } from '../../engine/follow/follow.ts'
import type { CaughtUpEvent, RunEvent } from '../../engine/follow/listeners.ts'
import type { TreeQuestion } from '../../engine/task/children.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { eventBody, eventFrame } from './event-body.ts'
import { redact } from '../../secrets/redact.ts'
import { flag, number, optional } from '../../base/checks.ts'
import { checkKeys, describe } from '../../base/options.ts'

export interface EventsOptions {
  /** Only entries after this one. */
  readonly after?: number | undefined
  /**
   * Also an event `caught-up`, once: everything that was written so far has been given, and the run is under way. A run
   * that rests by then has no such event: its events end.
   */
  readonly caughtUp?: boolean | undefined
}

/** `next()` of the last one gives how the run rests; undefined when the store was closed, and more may come. */
export type RunEvents<Event = RunEvent> = EventIterator<Event>

export interface ResponseOptions extends Pick<EventsOptions, 'after'> {
  /** Beside those of an event stream. */
  readonly headers?: ConstructorParameters<typeof Headers>[0]
}

/** A web-standard Request, or one of node:http. */
export interface EventsRequest {
  readonly method?: string | undefined
  readonly headers:
    | { get(name: string): string | null }
    | { readonly [name: string]: string | readonly string[] | undefined }
}

export interface RunSource {
  readonly id: string
  readonly world: Pick<World, 'sleep'>
  /** Marked: with the event that says that history is over. */
  follow(after: number): RunEvents<RunEvent | CaughtUpEvent>
  /** Whether the run has ended, and nothing comes after this entry. */
  isOver(after: number): Promise<boolean>
  /** What the runs of its tasks have asked. */
  asked(): Promise<readonly TreeQuestion[]>
}

/** OPTION_INVALID, OPTION_UNKNOWN. */
export function readEventsOptions(options: EventsOptions): { readonly after: number; readonly marked: boolean } {
  checkKeys('events', options, ['after', 'caughtUp'])
  const after = optional('after', options.after, number(0)) ?? 0
  return { after, marked: optional('caughtUp', options.caughtUp, flag) ?? false }
}

/**
 * OPTION_INVALID, OPTION_UNKNOWN. With neither a `Last-Event-ID` nor `after`, from the first entry on. A client that
 * has everything of a run that has ended is answered with 204, which is how a browser's EventSource is told not to come
 * back.
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
  // listening begins with the call
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

/** Of a response that is an event stream. */
export function eventHeaders(headers: Headers): void {
  headers.set('content-type', 'text/event-stream; charset=utf-8')
  headers.set('cache-control', 'no-cache, no-transform')
  // or nginx collects them until there is a page full
  headers.set('x-accel-buffering', 'no')
}

export function responseHeaders(of: string, headers: ResponseOptions['headers']): Headers {
  try {
    return new Headers(headers)
  } catch (error) {
    const words = `headers of ${of} is ${describe(headers)}, which cannot be used: ${messageOf(error)}`
    throw new RepriseError('OPTION_INVALID', words)
  }
}

/** What a client says is not to be trusted: anything but a number is as if it had said nothing. */
export function lastEventId(request: EventsRequest | undefined): number | undefined {
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

function eventText(event: RunEvent | CaughtUpEvent): string {
  return eventFrame({ id: 'seq' in event ? event.seq : undefined, event: event.type, data: JSON.stringify(event) })
}

/** Without a rest, more may come: the client is to come back for it. */
function endText(rest: RestStatus | undefined): string {
  return rest === undefined ? '' : eventFrame({ event: 'end', data: JSON.stringify({ status: rest }) })
}

/** Errors that are not ours may quote addresses and queries, so they are only said to have happened. */
export function publicError(error: unknown, run: string): { readonly code: string; readonly message: string } {
  if (RepriseError.isInstance(error)) return { code: error.code, message: redact(error.facts) }
  return { code: 'STORE_FAILED', message: `the events of run ${run} cannot be read any further` }
}
