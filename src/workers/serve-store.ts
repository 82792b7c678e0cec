// The work on one store: claim while there is room, advance what was claimed, wait for a hint, and look now and then
// without one, since hints may be lost and delays come due. Nothing that is wrong with a run, or with the store, ends
// it.
import type { World } from '../engine/definition.ts'
import type { Lease, RunId } from '../stores/store.ts'
import { advanceRun } from './advance-run.ts'
import { createAlarm, type Alarm } from './alarm.ts'
import { claimRuns, claimsFor, type Claimed } from './claim-runs.ts'
import type { Hear } from './report/events.ts'
import type { InProgress } from './in-progress.ts'
import type { ServedCrew, ServedStore, Time } from './served.ts'

export interface StoreWork {
  readonly progress: InProgress
  readonly clock: Pick<World, 'now' | 'monotonic' | 'sleep'>
  readonly hear: Hear
  /** Nothing is claimed after it. */
  readonly stopping: AbortSignal
  /** How long a run that is claimed now may be held. */
  time(): Time
  /** How often to look without a hint. */
  readonly pollMs: number
  /** End when nothing is ready and nothing in progress. Then an error of the store ends it, too. */
  readonly once: boolean
}

/** A hint may come with every step of every run: no more claims than one in this time are made for them. */
const hintMs = 50
/** A store that has not answered for so long counts as away. */
const silentMs = 10_000
const longestPause = 30_000

export async function serveStore(served: ServedStore, work: StoreWork): Promise<void> {
  const { store, crews } = served
  const { progress, clock, hear, stopping, once } = work
  const alarm = createAlarm(clock)
  const over = new AbortController()
  const mine = new Set<RunId>()
  /** Those of which was said that their runs wait. */
  const limited = new Set<ServedCrew>()
  let away: { readonly since: number; tries: number } | undefined
  stopping.addEventListener('abort', alarm.ring, { signal: over.signal })
  progress.onRoom(alarm.ring)
  void listen(served, clock, alarm, over.signal)
  try {
    for (let turn = 0; !stopping.aborted; turn++) {
      const claimed = await claim(turn)
      if (once && claimed?.runs === 0 && claimed.all && mine.size === 0 && !(await isLimited())) return
      await alarm.wait(jittered(away ? Math.min(1_000 * 2 ** away.tries, longestPause) : work.pollMs))
    }
  } finally {
    over.abort()
  }

  /** Undefined when the store does not say. */
  async function claim(turn: number): Promise<Claimed | undefined> {
    using _ = noticed(clock, () => isAway(new Error(`it has not answered for ${silentMs / 1_000} seconds`)))
    try {
      const claimed = await claimRuns(served, claimsFor(crews, progress, turn), progress, mine, begin)
      hear({ event: 'asked', store: store.url })
      if (away) hear({ event: 'store-back', store: store.url, seconds: (clock.monotonic() - away.since) / 1_000 })
      away = undefined
      return claimed
    } catch (error) {
      if (once) throw error
      isAway(error)
      return undefined
    }
  }

  function begin(lease: Lease, crew: ServedCrew | undefined): void {
    if (stopping.aborted) {
      // it came too late; whoever cannot be told finds it free when the lease is over
      store.release(lease).catch(() => undefined)
      return
    }
    mine.add(lease.run)
    const advancing = advanceRun(served, lease, crew, work).finally(() => mine.delete(lease.run))
    progress.begin({ run: lease.run, crew }, advancing)
  }

  /** Whether runs are ready that were not given: others have as many of the crew as its limit allows. */
  async function isLimited(): Promise<boolean> {
    let any = false
    for (const crew of crews) {
      const { name, lanes, maxRuns } = crew
      if (maxRuns === undefined || (await store.ready(lanes, 1)) === 0) continue
      if (!limited.has(crew)) hear({ event: 'limited', crew: name, maxRuns })
      limited.add(crew)
      any = true
    }
    return any
  }

  function isAway(error: unknown): void {
    if (!away) hear({ event: 'store-away', store: store.url, error })
    away ??= { since: clock.monotonic(), tries: 0 }
    away.tries++
  }
}

/**
 * Rings for hints of the store, until the signal aborts. What goes wrong here costs only time: somebody looks anyway.
 */
async function listen(
  { store }: ServedStore,
  clock: Pick<World, 'sleep'>,
  alarm: Alarm,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const _ of store.watch(undefined, signal)) {
        alarm.ring()
        await clock.sleep(hintMs, signal)
      }
    } catch {
      // it is away, or we were stopped
    }
    await clock.sleep(longestPause, signal).catch(() => undefined)
  }
}

/** Calls when this takes too long. */
function noticed({ sleep }: Pick<World, 'sleep'>, call: () => void): Disposable {
  const over = new AbortController()
  sleep(silentMs, over.signal).then(call, () => undefined)
  return { [Symbol.dispose]: () => over.abort() }
}

/** Workers that were started at once do not keep asking at once. */
function jittered(ms: number): number {
  return ms * (0.75 + Math.random() / 2)
}
