// Dispatches by HTTP calls to `advanceHandler`, one slice per call. It has no timers: runs that become due later are
// woken by the sweep of a worker or a cron job.
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
   * How long to wait for an answer, up to 300, the limit of fetch. Set it longer than a call takes: after this time,
   * the call counts as made. Default: 300.
   */
  readonly timeoutSeconds?: number
}

/** The body of a call. */
export interface AdvanceCall {
  readonly runId: string
}

/** OPTION_INVALID, OPTION_UNKNOWN. */
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

/** Resolves once the call was made; the journal has its outcome. DISPATCHER_FAILED. */
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
  if (response.ok || answeredByPlatform.has(response.status)) return
  throw dispatcherFailed(where, `answers ${response.status}: ${answer.slice(0, 500)}`)
}

/** Answers that ask for a retry, and those of platforms when a function was killed at its time limit. */
const answeredByPlatform: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])

/** Leaves out the query, which may hold credentials. */
function dispatcherFailed({ origin, pathname }: URL, why: string, cause?: unknown): RepriseError {
  return new RepriseError('DISPATCHER_FAILED', `${origin}${pathname} ${why}`, { cause })
}
