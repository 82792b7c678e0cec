// The time limit of a run in this process. Not built on AbortSignal.any, which holds its signals weakly: a signal
// without another reference is garbage-collected, and the slice would never end (Node 24.21).
import type { Clock } from '../base/clock.ts'

/** `until` hands the run back between two steps, `signal` at once. Dispose of it when the run has left. */
export interface Time extends Disposable {
  readonly until: AbortSignal
  readonly signal: AbortSignal
}

/** The earliest of these ends the time. A slice starts now. */
export interface TimeLimits {
  readonly until: readonly (AbortSignal | undefined)[]
  readonly sliceSeconds: readonly (number | undefined)[]
  readonly signal: AbortSignal
}

export function startTime({ until, sliceSeconds, signal }: TimeLimits, clock: Pick<Clock, 'timer'>): Time {
  const up = new AbortController()
  const over = new AbortController()
  for (const one of until) {
    if (one?.aborted) up.abort()
    one?.addEventListener('abort', () => up.abort(), { signal: over.signal })
  }
  const shortest = Math.min(...sliceSeconds.filter((one) => one !== undefined))
  const timer = shortest === Infinity ? undefined : clock.timer(shortest * 1_000, () => up.abort())
  return {
    until: up.signal,
    signal,
    [Symbol.dispose]() {
      timer?.[Symbol.dispose]()
      over.abort()
    },
  }
}
