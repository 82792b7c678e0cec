// A dispatcher that calls `advanceHandler` over HTTP, one slice per call. It has no timers: the sweep of a worker or a
// cron job wakes runs that become due later.
import { number, optional, checkKeys } from '../../base/options.ts'
import type { Dispatcher, Wake } from '../../crew/queue/dispatcher.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { remember, secretsInAddress } from '../../secrets/known.ts'
import { rootCause, wasUnanswered, readUrl } from './addresses.ts'
import { secretCheck, sign, signatureHeader } from './signature.ts'
import { realWorld } from '../../engine/world.ts'

export interface HttpDispatcherOptions {
  /** URL of the handler. */
  readonly url: string
  /** Shared with the handler. At least 16 characters. */
  readonly secret: string
  /**
   * How long to wait for the response, at most 300, the limit of fetch. Set it longer than a call takes: a call without
   * a response counts as made. Default: 300.
   */
  readonly timeoutSeconds?: number
}

/** The body of a call. */
export interface AdvanceCall {
  readonly runId: string
}

/** Throws OPTION_INVALID or OPTION_UNKNOWN. */
export function httpDispatcher(options: HttpDispatcherOptions): Dispatcher {
  checkKeys('httpDispatcher', options, ['url', 'secret', 'timeoutSeconds'])
  const url = readUrl('url of httpDispatcher', options.url, 'https://example.com/api/advance')
  const secret = secretCheck.read('secret of httpDispatcher', options.secret)
  remember([secret, ...secretsInAddress(url)])
  const timeoutMs = Math.ceil((optional('timeoutSeconds', options.timeoutSeconds, number(0.001, 300)) ?? 300) * 1_000)
  const world = realWorld()
  return {
    name: 'http',
    async wake({ runId }: Wake, at?: number) {
      const now = world.now().getTime()
      if (at !== undefined && at > now) return
      const body = JSON.stringify({ runId } satisfies AdvanceCall)
      const signature = await sign(secret, body, { id: world.uuid(), at: now })
      await postCall(url, body, signature, timeoutMs)
    },
  }
}

/**
 * Resolves once the call was made, whatever came of it: the journal has the outcome. Rejects with DISPATCHER_FAILED if
 * the handler cannot be reached or refuses the call.
 */
async function postCall(url: string, body: string, signature: string, timeoutMs: number): Promise<void> {
  const where = new URL(url)
  let response: Response
  try {
    response = await fetch(where, {
      method: 'POST',
      headers: { 'content-type': 'application/json', [signatureHeader]: signature },
      body,
      signal: AbortSignal.timeout(timeoutMs),
    })
  } catch (error) {
    // a function killed at its time limit breaks the connection
    if (wasUnanswered(error)) return
    throw dispatcherFailed(where, `cannot be reached: ${messageOf(rootCause(error))}`, error)
  }
  const answer = await response.text().catch(() => '')
  if (response.ok || countsAsMade.has(response.status)) return
  throw dispatcherFailed(where, `answers ${response.status}: ${answer.slice(0, 500)}`)
}

/** Statuses that ask for a retry, or that platforms send when they kill a function at its time limit. */
const countsAsMade: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])

/** Leaves out the query, which may hold credentials. */
function dispatcherFailed({ origin, pathname }: URL, why: string, cause?: unknown): RepriseError {
  return new RepriseError('DISPATCHER_FAILED', `${origin}${pathname} ${why}`, { cause })
}
