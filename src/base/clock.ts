// The clock of code that waits. Tests replace it with a fake clock.
import { setTimeout as wait } from 'node:timers/promises'

export interface Clock {
  /** Milliseconds since an arbitrary start. Never goes back. */
  monotonic(): number
  /** Rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Calls `ring` once, unless it is disposed of before. Does not keep the process alive. */
  timer(ms: number, ring: () => void): Disposable
}

export const realClock: Clock = {
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    await wait(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
  },
  timer(ms, ring) {
    const timer = setTimeout(ring, ms)
    // in runtimes with browser timers, such as older Workers, it is a number
    ;(timer as Partial<NodeJS.Timeout>).unref?.()
    return { [Symbol.dispose]: () => clearTimeout(timer) }
  },
}
