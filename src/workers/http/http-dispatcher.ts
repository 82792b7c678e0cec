// Functions that are called by HTTP as the dispatcher: a run is advanced by whoever answers at an address, one slice
// for each call. There are no timers: what is due later is called for by the sweep of a worker, or of a cron job.
import { number, optional } from '../../base/checks.ts'
import type { Dispatcher, Wake } from '../../crew/queue/dispatcher.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { checkKeys } from '../../base/options.ts'
import { remember, secretsInAddress } from '../../secrets/known.ts'
import { rootCause, wasUnanswered } from './call-failure.ts'
import { readUrl } from './read-address.ts'
import { secretCheck, sign, signatureHeader } from './signature.ts'

export interface HttpDispatcherOptions {
  /** Where `advanceHandler` answers. */
  readonly url: string
  /** The one that it has, too. At least 16 characters. */
  readonly secret: string
  /**
   * How long an answer is waited for: longer than a function takes, up to 300, which is as long as fetch waits. Then it
   * counts as told. Default 300.
   */
  readonly timeoutSeconds?: number
}

/** What a handler is told. */
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
  return {
    name: 'http',
    async wake({ runId }: Wake, at?: number) {
      if (at !== undefined && at > Date.now()) return
      const body = JSON.stringify({ runId } satisfies AdvanceCall)
      const signature = await sign(secret, body, { id: crypto.randomUUID(), at: Date.now() })
      await postCall(url, body, signature, timeoutMs)
    },
  }
}

/** Resolves when somebody there was called, whatever came of it: the journal says that. DISPATCHER_FAILED. */
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
    // a function that is killed at its limit breaks the connection
    if (wasUnanswered(error)) return
    throw dispatcherFailed(where, `cannot be reached: ${messageOf(rootCause(error))}`, error)
  }
  const said = await response.text().catch(() => '')
  if (response.ok || answeredByPlatform.has(response.status)) return
  throw dispatcherFailed(where, `answers ${response.status}: ${said.slice(0, 500)}`)
}

/** To be called again, and what platforms say about a function that was killed at its limit. */
const answeredByPlatform: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])

/** Without what an address may carry of credentials. */
function dispatcherFailed({ origin, pathname }: URL, why: string, cause?: unknown): RepriseError {
  return new RepriseError('DISPATCHER_FAILED', `${origin}${pathname} ${why}`, { cause })
}
