// Timeouts. Unlike AbortSignal.timeout, a deadline keeps the process alive until it ends, because the promise that it
// guards may be the only thing left to wait for.
import type { Clock } from '../../base/clock.ts'

export interface Deadline extends Disposable {
  /** Aborts with `outer`, or when the time is up. */
  readonly signal: AbortSignal
  readonly over: boolean
}

/**
 * Without `seconds`, only `outer` counts. `lostMs` returns the time so far that doesn't count: outages of the store.
 */
export function deadline(
  clock: Pick<Clock, 'timer'>,
  seconds: number | undefined,
  outer: AbortSignal,
  lostMs: () => number = () => 0,
): Deadline {
  if (seconds === undefined) return { signal: outer, over: false, [Symbol.dispose]: () => {} }
  const controller = new AbortController()
  let lost = lostMs()
  const ring = (): void => {
    const more = lostMs() - lost
    lost += more
    // at least 100 ms, since the lost time keeps growing during an outage
    if (more > 0) timer = clock.timer(Math.max(more, 100), ring, true)
    else controller.abort(new Error(`the time of ${seconds} s is up`))
  }
  let timer = clock.timer(seconds * 1000, ring, true)
  return {
    signal: AbortSignal.any([outer, controller.signal]),
    get over() {
      return controller.signal.aborted
    },
    [Symbol.dispose]: () => timer[Symbol.dispose](),
  }
}

/** Rejects with the signal's reason as soon as it aborts, so that user code need not handle signals. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // a promise that has already settled wins
  if (signal.aborted) return Promise.race([promise, Promise.reject(signal.reason as Error)])
  const { promise: first, resolve, reject } = Promise.withResolvers<T>()
  const onAbort = (): void => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  return first
}
