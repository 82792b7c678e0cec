// A clock that advances only when all code waits for a timer, so that an hour passes in moments.
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../../src/base/clock.ts'

export interface VirtualTime extends Clock {
  /** In ms since 1970. */
  now(): number
  /** Advances the clock at once. Timers that are due by then ring late. */
  leap(ms: number): void
  /**
   * Advances the clock until `done` settles. Rejects if that takes longer than `mostMs` of virtual time, or if no timer
   * is left.
   */
  passUntil(done: Promise<unknown>, mostMs: number): Promise<void>
}

/** After this many turns of the event loop, all code that can continue without a timer has done so. */
const turns = 8

export function virtualTime(start: number = Date.parse('2026-03-01T09:00:00Z')): VirtualTime {
  let now = start
  let count = 0
  const bells = new Map<number, { readonly at: number; ring(): void }>()

  function timer(ms: number, ring: () => void): Disposable {
    const id = count++
    bells.set(id, { at: now + Math.max(ms, 0), ring })
    return { [Symbol.dispose]: () => void bells.delete(id) }
  }

  return {
    now: () => now,
    leap: (ms) => void (now += ms),
    monotonic: () => now - start,
    random: Math.random,
    timer,
    sleep(ms, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      if (signal.aborted) reject(signal.reason as Error)
      const bell = timer(ms, () => {
        signal.removeEventListener('abort', wake)
        resolve()
      })
      function wake(): void {
        bell[Symbol.dispose]()
        reject(signal.reason as Error)
      }
      if (signal.aborted) bell[Symbol.dispose]()
      else signal.addEventListener('abort', wake, { once: true })
      return promise
    },
    async passUntil(done, mostMs) {
      const end = now + mostMs
      let isDone = false
      const over = (): void => void (isDone = true)
      done.then(over, over)
      for (;;) {
        for (let each = 0; each < turns; each++) await turn()
        if (isDone) return
        const [id, next] = [...bells].toSorted(([a, x], [b, y]) => x.at - y.at || a - b)[0] ?? []
        if (id === undefined || next === undefined || next.at > end)
          throw new Error(`not done after ${(now - start) / 1_000} s of virtual time`)
        now = Math.max(now, next.at)
        bells.delete(id)
        next.ring()
      }
    },
  }
}
