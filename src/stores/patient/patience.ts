// How long a store that is away is waited for, and who is told. Tries are further and further apart, with jitter, so
// that a server that comes back is not overrun by everybody at once.
import { realClock, type Clock } from '../../base/clock.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import type { Store } from '../store.ts'

export interface Patience {
  /** For how long one call waits; without it, for as long as it takes. */
  readonly limitMs?: number | undefined
  /** Whoever wanted the answers wants them no more: what is under way is given a last moment. */
  readonly signal?: AbortSignal | undefined
  /** Told once when an outage begins, and once when it is over. */
  readonly onOutage?: ((message: string) => void) | undefined
  /** Default: the real one. */
  readonly clock?: Clock | undefined
}

export interface OpenPatience {
  /** Makes a call until the store answers. `doubt`: it was made before, and nobody knows whether it arrived. */
  retry<T>(call: (doubt: boolean) => Promise<T>): Promise<T>
  /**
   * Reads on when reading breaks off. `until`, of hints, ends the waiting as if there were nothing more: a store may
   * give hints while it is away, so they are no answer.
   */
  retryStream<T>(begin: () => AsyncIterable<T>, until?: AbortSignal): AsyncGenerator<T>
  /** For how long the store was away so far, all outages together. */
  outageMs(): number
}

/** Long enough for a call that needs a second try, short enough for somebody who has pressed Ctrl-C. */
const lastMomentMs = 2_000
const longestWaitMs = 2_000

export function openPatience(
  store: Store,
  { limitMs = Infinity, signal, onOutage: tell, clock = realClock }: Patience,
): OpenPatience {
  /** Since when no call was answered. */
  let awaySince: number | undefined
  let lastAnswer = clock.monotonic()
  let unwantedSince: number | undefined
  let awayBefore = 0
  /** What calls were given up with: these are not made again. */
  const givenUp = new WeakSet<RepriseError>()

  function answered(): void {
    lastAnswer = clock.monotonic()
    if (awaySince === undefined) return
    const lasted = lastAnswer - awaySince
    awayBefore += lasted
    awaySince = undefined
    tell?.(`the store ${store.url} is back after ${Math.round(lasted / 1000)} s`)
  }

  /** Rejects when the time is up. */
  async function waitFor(error: RepriseError, since: number, tries: number, until?: AbortSignal): Promise<void> {
    if (awaySince === undefined) {
      // a driver may have waited by itself before it gave up
      awaySince = Math.max(since, lastAnswer)
      tell?.(`the store ${store.url} does not answer (${outageReason(error)}): waiting for it`)
    }
    if (signal?.aborted) unwantedSince ??= clock.monotonic()
    const end = unwantedSince === undefined ? since + limitMs : Math.max(unwantedSince, awaySince) + lastMomentMs
    const left = end - clock.monotonic()
    if (left <= 0) throw gaveUpError(store, outageReason(error), clock.monotonic() - since, error)
    const signals = [signal, until].filter((one) => one !== undefined && !one.aborted) as AbortSignal[]
    await pause(clock, Math.min(backoff(tries), left), signals)
  }

  /**
   * Of a call that is under way when nobody wants its answer any more, or is made after that, only so much is waited
   * for: a driver may wait for half a minute by itself, and a server that hangs for ever.
   */
  function inTime<T>(call: Promise<T>, since: number): Promise<T> {
    if (!signal) return call
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    let timer: Disposable | undefined
    const giveUp = (): void => {
      const error = gaveUpError(store, 'a call has no answer yet', clock.monotonic() - since)
      givenUp.add(error)
      reject(error)
    }
    const unwanted = (): void => void (timer = clock.timer(lastMomentMs, giveUp))
    if (signal.aborted) unwanted()
    else signal.addEventListener('abort', unwanted, { once: true })
    const over = (): void => {
      timer?.[Symbol.dispose]()
      signal.removeEventListener('abort', unwanted)
    }
    call.then(resolve, reject).finally(over)
    return promise
  }

  return {
    async retry(call) {
      const since = clock.monotonic()
      for (let tries = 0; ; tries++) {
        try {
          const answer = await inTime(call(tries > 0), since)
          answered()
          return answer
        } catch (error) {
          if (!isOutage(error)) answered()
          if (!isOutage(error) || givenUp.has(error)) throw error
          await waitFor(error, since, tries)
        }
      }
    },

    outageMs: () => awayBefore + (awaySince === undefined ? 0 : clock.monotonic() - awaySince),

    async *retryStream(begin, until) {
      let since = clock.monotonic()
      for (let tries = 0; ; tries++) {
        const items = begin()[Symbol.asyncIterator]()
        let isAsked = false
        try {
          for (;;) {
            isAsked = true
            const next = await inTime(items.next(), since)
            isAsked = false
            if (!until) answered()
            if (next.done) return
            yield next.value
            since = clock.monotonic()
            tries = 0
          }
        } catch (error) {
          if (!isOutage(error) || givenUp.has(error)) throw error
          await waitFor(error, since, tries, until)
          if (until?.aborted) return
        } finally {
          // one that hangs cannot be told
          if (!isAsked) await items.return?.()
        }
      }
    },
  }
}

/** Whether a call may succeed once the store is back. */
export function isOutage(error: unknown): error is RepriseError {
  return RepriseError.isInstance(error) && (error.code === 'STORE_UNAVAILABLE' || error.code === 'OUTCOME_UNKNOWN')
}

/** Also ends when one of the signals aborts. */
function pause(clock: Clock, ms: number, signals: readonly AbortSignal[]): Promise<void> {
  return clock.sleep(ms, AbortSignal.any([...signals])).catch(() => undefined)
}

function backoff(tries: number): number {
  return Math.min(longestWaitMs, 20 * 2 ** tries) * (0.5 + Math.random() / 2)
}

/** What the system or the server said, where that is known: the driver's words name the store once more. */
function outageReason(error: RepriseError): string {
  return error.cause === undefined ? error.facts : redact(messageOf(error.cause))
}

function gaveUpError({ url }: Store, why: string, ms: number, cause?: RepriseError): RepriseError {
  const words = `the store ${url} could not be reached for ${Math.ceil(ms / 1000)} s (${why}): try again when it is back`
  return new RepriseError('STORE_UNAVAILABLE', words, { cause })
}
