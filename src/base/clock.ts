// The time of a process, for what waits: a test puts its own in the place of the real one.
import { setTimeout as wait } from 'node:timers/promises'

export interface Clock {
  /** Milliseconds that never go back. */
  monotonic(): number
  /** Rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Rings once, unless it is disposed of before. It keeps no process alive. */
  timer(ms: number, ring: () => void): Disposable
}

export const realClock: Clock = {
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    await wait(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
  },
  timer(ms, ring) {
    const timer = setTimeout(ring, ms)
    // where timers are those of browsers, as in older Workers, it is a number
    ;(timer as Partial<NodeJS.Timeout>).unref?.()
    return { [Symbol.dispose]: () => clearTimeout(timer) }
  },
}
