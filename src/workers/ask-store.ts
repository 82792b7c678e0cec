// Polls one store for ready runs: on a hint, when there is room again, and at intervals, since hints may be lost and
// runs become due. Outages of the store do not end it.
import { createNotifier, type Notifier } from '../base/notifier.ts'
import type { World } from '../engine/definition.ts'
import type { InProgress } from './in-progress.ts'
import type { OnWorkerEvent } from './report/events.ts'
import type { ServedStore } from './served.ts'

export interface AskWork {
  readonly progress: InProgress
  readonly clock: Pick<World, 'now' | 'monotonic' | 'sleep' | 'random'>
  readonly report: OnWorkerEvent
  /** Ends the polling. */
  readonly stopping: AbortSignal
  /** Poll interval without a hint. */
  readonly pollMs: number
  /** End when `ask` resolves to true. An error of the store ends it, too. */
  readonly once: boolean
}

/** Every step of every run may send a hint: poll at most once in this time because of hints. */
const hintMs = 50
/** A store that has not answered for this long counts as away. */
const silentMs = 10_000
const maxPauseMs = 30_000

/** `ask` resolves to true when no work is left. `turn` counts the polls. */
export async function askStore(
  served: ServedStore,
  { progress, clock, report, stopping, pollMs, once }: AskWork,
  ask: (turn: number, hints: Notifier) => Promise<boolean>,
): Promise<void> {
  const { url } = served.store
  const hints = createNotifier()
  const over = new AbortController()
  let away: { readonly since: number; tries: number } | undefined
  stopping.addEventListener('abort', hints.notify, { signal: over.signal })
  progress.onRoom(hints.notify)
  void listen(served, clock, hints, over.signal)
  try {
    for (let turn = 0; !stopping.aborted; turn++) {
      if ((await askOnce(turn)) && once) return
      await waitFor(hints, jittered(clock, away ? Math.min(1_000 * 2 ** away.tries, maxPauseMs) : pollMs), clock)
    }
  } finally {
    over.abort()
  }

  async function askOnce(turn: number): Promise<boolean> {
    using _ = onTimeout(clock, () => isAway(new Error(`it has not answered for ${silentMs / 1_000} seconds`)))
    try {
      const isDone = await ask(turn, hints)
      report({ type: 'store-asked', store: url })
      if (away) report({ type: 'store-back', store: url, seconds: (clock.monotonic() - away.since) / 1_000 })
      away = undefined
      return isDone
    } catch (error) {
      if (once) throw error
      isAway(error)
      return false
    }
  }

  function isAway(error: unknown): void {
    if (!away) report({ type: 'store-away', store: url, error })
    away ??= { since: clock.monotonic(), tries: 0 }
    away.tries++
  }
}

/** Notifies of hints of the store until the signal aborts. Errors only cost time: the store is asked anyway. */
async function listen(
  { store }: ServedStore,
  clock: Pick<World, 'sleep'>,
  hints: Notifier,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const _ of store.watch(undefined, signal)) {
        hints.notify()
        await clock.sleep(hintMs, signal)
      }
    } catch {
      // the store is away, or the worker stops
    }
    await clock.sleep(maxPauseMs, signal).catch(() => undefined)
  }
}

/** Calls back unless disposed of in time. */
function onTimeout({ sleep }: Pick<World, 'sleep'>, call: () => void): Disposable {
  const over = new AbortController()
  sleep(silentMs, over.signal).then(call, () => undefined)
  return { [Symbol.dispose]: () => over.abort() }
}

/** Spreads the polls of workers that were started together. */
function jittered({ random }: Pick<World, 'random'>, ms: number): number {
  return ms * (0.75 + random() / 2)
}

/** Waits for a notification, at most for `ms`; not at all if there was one since the last wait. */
async function waitFor(hints: Notifier, ms: number, { sleep }: Pick<World, 'sleep'>): Promise<void> {
  if (hints.consume()) return
  const over = new AbortController()
  await Promise.race([hints.wait(over.signal), sleep(ms, over.signal)]).catch(() => undefined)
  over.abort()
  hints.consume()
}
