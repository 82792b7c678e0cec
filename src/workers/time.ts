// The time that a run has in this process. Made by hand, since AbortSignal.any knows its signals only weakly: one that
// nobody else keeps is forgotten when memory is cleaned up, and the slice never ends (Node 24.21).
import type { Clock } from '../base/clock.ts'

/** `until`: the run is handed back between two steps. `signal`: at once. To be disposed of when it has left. */
export interface Time extends Disposable {
  readonly until: AbortSignal
  readonly signal: AbortSignal
}

/** What ends it, whichever comes first; a slice begins now. */
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
