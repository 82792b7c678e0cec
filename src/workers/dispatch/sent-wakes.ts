// The wakes sent to a dispatcher, and when to resend them: after growing pauses, whether a wake had no effect or could
// not be sent. Uses the monotonic clock, so that a wrong time of day does not stop resends.
import type { ReadyRun, RunId } from '../../stores/store.ts'

/** First pause after a wake of a run could not be sent. */
const retryMs = 1_000
/** Longest pause after wakes of a run that could not be sent. */
const maxRetryMs = 30_000
/** Longest pause between two wakes of a run that stays ready. */
const maxResendMs = 600_000

interface SentWake {
  /** When the run became ready. Another time is a new reason to wake. */
  readonly readyAt: number
  readonly count: number
  /** Failures since the last wake that was sent. */
  readonly failures: number
  /** The error of the last failure. */
  readonly error?: unknown
  /** When to send the next wake, by the monotonic clock. */
  readonly next: number
}

export interface SentWakes {
  /** Forgets runs that are no longer ready, or became ready again. */
  retain(ready: readonly ReadyRun[]): void
  isDue(run: ReadyRun): boolean
  /** Wakes sent since the run became ready. */
  count(run: ReadyRun): number
  sent(run: ReadyRun): void
  failed(run: ReadyRun, error: unknown): void
  /** The error of a failed wake, if any known run's last wake failed. */
  failure(): { readonly error: unknown } | undefined
}

/** `resendMs`: pause before the second wake of a run. */
export function sentWakes(resendMs: number, monotonic: () => number): SentWakes {
  const known = new Map<RunId, SentWake>()
  const wakeOf = ({ run, readyAt }: ReadyRun): SentWake => {
    const one = known.get(run)
    return one?.readyAt === readyAt ? one : { readyAt, count: 0, failures: 0, next: -Infinity }
  }
  return {
    retain(ready) {
      const still = new Map(ready.map(({ run, readyAt }) => [run, readyAt]))
      for (const [run, { readyAt }] of known) if (still.get(run) !== readyAt) known.delete(run)
    },
    isDue: (run) => monotonic() >= wakeOf(run).next,
    count: (run) => wakeOf(run).count,
    sent(run) {
      const { readyAt, count } = wakeOf(run)
      const next = monotonic() + backoff(resendMs, count, Math.max(resendMs, maxResendMs))
      known.set(run.run, { readyAt, count: count + 1, failures: 0, next })
    },
    failed(run, error) {
      const { readyAt, count, failures } = wakeOf(run)
      const next = monotonic() + backoff(retryMs, failures, maxRetryMs)
      known.set(run.run, { readyAt, count, failures: failures + 1, error, next })
    },
    failure: () => [...known.values()].find(({ failures }) => failures > 0) as { readonly error: unknown } | undefined,
  }
}

function backoff(first: number, tries: number, longest: number): number {
  return Math.min(first * 2 ** tries, longest)
}
