// Time and randomness as parameters, so that a test puts its own in the place of the real ones.
import { setTimeout as wait } from 'node:timers/promises'

export interface Clock {
  /** Milliseconds since an arbitrary start. Never goes back. */
  monotonic(): number
  /** Rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Calls `ring` once, unless it is disposed of before. Keeps the process alive only if `keepsAlive`. */
  timer(ms: number, ring: () => void, keepsAlive?: boolean): Disposable
  /** At least 0, less than 1. */
  random(): number
}

export const realClock: Clock & { now(): Date } = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    await wait(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
  },
  timer(ms, ring, keepsAlive = false) {
    const timer = setTimeout(ring, ms)
    // in runtimes with browser timers, such as older Workers, it is a number
    if (!keepsAlive) (timer as Partial<NodeJS.Timeout>).unref?.()
    return { [Symbol.dispose]: () => clearTimeout(timer) }
  },
  random: () => Math.random(),
}
