// Waits with an end. A deadline's signal aborts when a time is up; unlike AbortSignal.timeout it keeps the process
// alive until then: what it guards may be a promise that nothing else waits for.

export interface Deadline extends Disposable {
  /** Aborts with `outer`, or when the time is up. */
  readonly signal: AbortSignal
  readonly over: boolean
}

/**
 * Without seconds, only `outer` counts. `lostMs` is time that does not count, as far as it is known by now: that in
 * which the store was away.
 */
export function deadline(seconds: number | undefined, outer: AbortSignal, lostMs: () => number = () => 0): Deadline {
  if (seconds === undefined) return { signal: outer, over: false, [Symbol.dispose]: () => {} }
  const controller = new AbortController()
  let lost = lostMs()
  const ring = (): void => {
    const more = lostMs() - lost
    lost += more
    // not too often while an outage lasts
    if (more > 0) timer = setTimeout(ring, Math.max(more, 100))
    else controller.abort(new Error(`the time of ${seconds} s is up`))
  }
  let timer = setTimeout(ring, seconds * 1000)
  return {
    signal: AbortSignal.any([outer, controller.signal]),
    get over() {
      return controller.signal.aborted
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  }
}

/**
 * Rejects with the signal's reason as soon as it aborts, whatever the promise does: user code need not handle signals.
 */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // what has settled by then counts
  if (signal.aborted) return Promise.race([promise, Promise.reject(signal.reason as Error)])
  const { promise: first, resolve, reject } = Promise.withResolvers<T>()
  const onAbort = (): void => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  return first
}
