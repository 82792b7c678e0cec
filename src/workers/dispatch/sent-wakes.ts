// Of which runs a dispatcher was told, and when to tell it again: later each time, whether it was told in vain or could
// not be told. Time is that of this process: a machine whose clock is wrong still tells again.
import type { ReadyRun, RunId } from '../../stores/store.ts'

/** When it could not be told of a run, that is tried again after this time, and later each time. */
const pauseMs = 1_000
/** That run alone may be what is refused. */
const longestPause = 30_000
/** Whatever was lost how often, it is told again after this time. */
const longestResend = 600_000

interface SentWake {
  /** Since when the run is ready: another time is another reason to tell of it. */
  readonly readyAt: number
  readonly times: number
  /** How often it could not be told since it last was, and why. */
  readonly failures: number
  readonly error?: unknown
  /** When to tell it again. */
  readonly next: number
}

export interface SentWakes {
  /** Forgets what isn't ready any more, or is so anew. */
  keep(ready: readonly ReadyRun[]): void
  isDue(run: ReadyRun): boolean
  /** How often since the run is ready. */
  times(run: ReadyRun): number
  told(run: ReadyRun): void
  failed(run: ReadyRun, error: unknown): void
  /** Why one that is still ready could not be told of. */
  failure(): { readonly error: unknown } | undefined
}

/** `resendMs`: how long after it was first told of a run. */
export function sentWakes(resendMs: number, monotonic: () => number): SentWakes {
  const known = new Map<RunId, SentWake>()
  const before = ({ run, readyAt }: ReadyRun): SentWake => {
    const one = known.get(run)
    return one?.readyAt === readyAt ? one : { readyAt, times: 0, failures: 0, next: -Infinity }
  }
  return {
    keep(ready) {
      const still = new Map(ready.map(({ run, readyAt }) => [run, readyAt]))
      for (const [run, { readyAt }] of known) if (still.get(run) !== readyAt) known.delete(run)
    },
    isDue: (run) => monotonic() >= before(run).next,
    times: (run) => before(run).times,
    told(run) {
      const { readyAt, times } = before(run)
      const next = monotonic() + backoff(resendMs, times, Math.max(resendMs, longestResend))
      known.set(run.run, { readyAt, times: times + 1, failures: 0, next })
    },
    failed(run, error) {
      const { readyAt, times, failures } = before(run)
      const next = monotonic() + backoff(pauseMs, failures, longestPause)
      known.set(run.run, { readyAt, times, failures: failures + 1, error, next })
    },
    failure: () => [...known.values()].find(({ failures }) => failures > 0) as { readonly error: unknown } | undefined,
  }
}

/** Twice as much each time. */
function backoff(first: number, times: number, longest: number): number {
  return Math.min(first * 2 ** times, longest)
}
