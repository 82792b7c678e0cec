// Retries calls to a store during an outage, at growing intervals with jitter, so that clients don't all reach a
// recovering server at once.
import type { Clock } from '../../base/clock.ts'
import { messageOf, RepriseError } from '../../base/errors.ts'
import { redact } from '../../secrets/redact.ts'
import type { Store } from '../store.ts'

export interface Patience {
  /** How long one call waits. Default: as long as it takes. */
  readonly limitMs?: number | undefined
  /** Aborts when the results are no longer needed: calls in progress then get a last moment. */
  readonly signal?: AbortSignal | undefined
  /** Called once when an outage begins, and once when it ends. */
  readonly onOutage?: ((message: string) => void) | undefined
  readonly clock: Clock
}

export interface OpenPatience {
  /** Repeats a call until the store replies. `doubt`: an earlier try may have arrived. */
  retry<T>(call: (doubt: boolean) => Promise<T>): Promise<T>
  /**
   * Repeats a read that breaks off. For a stream of hints, `until` ends the waiting like the end of the stream, and
   * items don't count as replies, since a store may yield hints during an outage.
   */
  retryStream<T>(begin: () => AsyncIterable<T>, until?: AbortSignal): AsyncGenerator<T>
  /** Total duration of all outages so far. */
  outageMs(): number
}

/** Long enough for a second try of a call, short enough for a person who has pressed Ctrl-C. */
const lastMomentMs = 2_000
const longestWaitMs = 2_000

export function openPatience(store: Store, { limitMs = Infinity, signal, onOutage, clock }: Patience): OpenPatience {
  /** Start of the current outage. */
  let outageStart: number | undefined
  let lastReply = clock.monotonic()
  let abortedAt: number | undefined
  let pastOutagesMs = 0
  /** Errors of calls that were given up: these calls are not repeated. */
  const finalErrors = new WeakSet<RepriseError>()

  function onReply(): void {
    lastReply = clock.monotonic()
    if (outageStart === undefined) return
    const lasted = lastReply - outageStart
    pastOutagesMs += lasted
    outageStart = undefined
    onOutage?.(`the store ${store.url} is back after ${Math.round(lasted / 1000)} s`)
  }

  /** Waits before the next try. Rejects when the time is up. */
  async function waitAfter(error: RepriseError, since: number, tries: number, until?: AbortSignal): Promise<void> {
    if (outageStart === undefined) {
      // the driver may have waited, too, before it gave up
      outageStart = Math.max(since, lastReply)
      onOutage?.(`the store ${store.url} does not answer (${outageReason(error)}): waiting for it`)
    }
    if (signal?.aborted) abortedAt ??= clock.monotonic()
    const end = abortedAt === undefined ? since + limitMs : Math.max(abortedAt, outageStart) + lastMomentMs
    const left = end - clock.monotonic()
    if (left <= 0) throw gaveUpError(store, outageReason(error), clock.monotonic() - since, error)
    const signals = [signal, until].filter((each) => each !== undefined && !each.aborted) as AbortSignal[]
    await pause(clock, Math.min(backoff(tries, clock), left), signals)
  }

  /**
   * After the signal aborts, waits only a moment for a call: a driver may take half a minute to give up, and a server
   * may hang forever.
   */
  function inTime<T>(call: Promise<T>, since: number): Promise<T> {
    if (!signal) return call
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    let timer: Disposable | undefined
    const giveUp = (): void => {
      const error = gaveUpError(store, 'a call has no answer yet', clock.monotonic() - since)
      finalErrors.add(error)
      reject(error)
    }
    const onAbort = (): void => void (timer = clock.timer(lastMomentMs, giveUp))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    const cleanUp = (): void => {
      timer?.[Symbol.dispose]()
      signal.removeEventListener('abort', onAbort)
    }
    call.then(resolve, reject).finally(cleanUp)
    return promise
  }

  return {
    async retry(call) {
      const since = clock.monotonic()
      for (let tries = 0; ; tries++) {
        try {
          const reply = await inTime(call(tries > 0), since)
          onReply()
          return reply
        } catch (error) {
          if (!isOutage(error)) onReply()
          if (!isOutage(error) || finalErrors.has(error)) throw error
          await waitAfter(error, since, tries)
        }
      }
    },

    outageMs: () => pastOutagesMs + (outageStart === undefined ? 0 : clock.monotonic() - outageStart),

    async *retryStream(begin, until) {
      let since = clock.monotonic()
      for (let tries = 0; ; tries++) {
        const items = begin()[Symbol.asyncIterator]()
        let isReading = false
        try {
          for (;;) {
            isReading = true
            const next = await inTime(items.next(), since)
            isReading = false
            if (!until) onReply()
            if (next.done) return
            yield next.value
            since = clock.monotonic()
            tries = 0
          }
        } catch (error) {
          if (!isOutage(error) || finalErrors.has(error)) throw error
          await waitAfter(error, since, tries, until)
          if (until?.aborted) return
        } finally {
          // return() would hang, too, while next() hangs
          if (!isReading) await items.return?.()
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

function backoff(tries: number, { random }: Clock): number {
  return Math.min(longestWaitMs, 20 * 2 ** tries) * (0.5 + random() / 2)
}

/** The message of the system or server, if known: the driver's message would name the store a second time. */
function outageReason(error: RepriseError): string {
  return error.cause === undefined ? error.facts : redact(messageOf(error.cause))
}

function gaveUpError({ url }: Store, why: string, ms: number, cause?: RepriseError): RepriseError {
  const words = `the store ${url} could not be reached for ${Math.ceil(ms / 1000)} s (${why}): try again when it is back`
  return new RepriseError('STORE_UNAVAILABLE', words, { cause })
}

/** How far a command got before it failed, and whether it writes. `never open`: there was no connection yet. */
export type CallStage = 'never open' | 'not sent' | 'read' | 'write'

export function outageError(url: string, why: string, sent: CallStage, cause: unknown): RepriseError {
  return sent === 'write'
    ? new RepriseError(
        'OUTCOME_UNKNOWN',
        `${url} became unreachable before it replied (${why}): read the run to see whether the change was written`,
        { cause },
      )
    : new RepriseError(
        'STORE_UNAVAILABLE',
        `${url} cannot be reached (${why}): check that the server runs and accepts connections from this machine`,
        { cause },
      )
}

/** If none of a host's addresses can be reached, Node throws an AggregateError without a message. */
export function errorReason(error: unknown): string {
  return error instanceof AggregateError ? error.errors.map(messageOf).join(', ') : messageOf(error)
}
