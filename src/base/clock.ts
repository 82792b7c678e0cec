// Time and randomness as parameters, so that tests can replace them.
import { setTimeout as wait } from 'node:timers/promises'

export interface Clock {
  /** Milliseconds since an arbitrary start. Never goes back. */
  monotonic(): number
  /** Rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Calls `ring` once, unless the timer is disposed before. Keeps the process alive only if `keepsAlive`. */
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
    // a number in runtimes with the timers of browsers, such as older Cloudflare Workers
    if (!keepsAlive) (timer as Partial<NodeJS.Timeout>).unref?.()
    return { [Symbol.dispose]: () => clearTimeout(timer) }
  },
  random: () => Math.random(),
}

/**
 * A point in time by two clocks. The monotonic clock measures durations. The time of day is for people and other
 * machines; it jumps when the clock is set or the machine was asleep.
 */
export interface Moment {
  readonly monotonic: number
  /** In ms since 1970. */
  readonly day: number
}

export function currentMoment(clock: Pick<Clock, 'monotonic'> & { now(): Date }): Moment {
  return { monotonic: clock.monotonic(), day: clock.now().getTime() }
}

/** In ms: the two clocks never agree exactly. */
const jumpTolerance = 1_000

/**
 * Returns how many ms further the time of day advanced than the monotonic clock: negative if it was set back, 0 if the
 * difference is below a second.
 */
export function jumpBetween(from: Moment, to: Moment): number {
  const jump = Math.round(to.day - from.day - (to.monotonic - from.monotonic))
  return Math.abs(jump) < jumpTolerance ? 0 : jump
}

/**
 * Returns an id that sorts by time (RFC 9562, version 7): 48 bits of `time`, in ms since 1970, then randomness. Node
 * has a function for these ids only from 24.16 on, and other runtimes have none.
 */
export function uuidV7(time: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const view = new DataView(bytes.buffer)
  view.setUint16(0, Math.floor(time / 2 ** 32))
  view.setUint32(2, time % 2 ** 32)
  view.setUint8(6, 0x70 | (view.getUint8(6) & 0x0f))
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f))
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
