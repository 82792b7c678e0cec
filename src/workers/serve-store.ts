// Serves one store: claims runs while there is room, and advances them. Neither a failing run nor an outage of the
// store ends it.
import { defined } from '../base/options.ts'
import type { TimedLease } from '../engine/lease/leased-tree.ts'
import type { Lane, RunId } from '../stores/store.ts'
import { advanceRun, type AdvanceWork } from './advance-run.ts'
import type { InProgress, ServedCrew, ServedStore } from './served.ts'
import { createNotifier, type Notifier } from '../base/notifier.ts'
import type { World } from '../engine/definition.ts'
import type { OnWorkerEvent } from './report/events.ts'

type StoreWork = PollWork & AdvanceWork

export async function serveStore(served: ServedStore, work: StoreWork): Promise<void> {
  const { store, crews } = served
  const { progress, report, stopping, once } = work
  const mine = new Set<RunId>()
  /** Crews whose limit was already reported. */
  const limited = new Set<ServedCrew>()
  await pollStore(served, work, async (round) => {
    const claimed = await claimRuns(served, claimsFor(crews, progress, round), progress, mine, begin)
    return once && claimed.runs === 0 && claimed.all && mine.size === 0 && !(await isAnyLeft())
  })

  function begin(lease: TimedLease, crew: ServedCrew | undefined): void {
    if (stopping.aborted) {
      // claimed too late; if the release fails, the lease expires
      store.release(lease).catch(() => undefined)
      return
    }
    mine.add(lease.run)
    const forget = (): void => void mine.delete(lease.run)
    progress.begin({ run: lease.run, crew }, advanceRun(served, lease, crew, work).then(forget, forget))
  }

  /**
   * Whether ready runs are left: a crew is at its limit, or this process holds a suspect, a run whose last holder died
   * (stores/rules/ready.ts), and gets no other.
   */
  async function isAnyLeft(): Promise<boolean> {
    let any = false
    for (const crew of crews) {
      const { name, lanes, maxRuns } = crew
      if ((await store.ready(lanes, 1)).length === 0) continue
      any = true
      if (maxRuns === undefined) continue
      if (!limited.has(crew)) report({ type: 'limited', crew: name, maxRuns })
      limited.add(crew)
    }
    return any
  }
}

interface Claim {
  /** Set if the claim is for one crew only. */
  readonly crew: ServedCrew | undefined
  readonly lanes: readonly Lane[]
  readonly limit: number
}

/**
 * Crews without a limit share one claim, so that priorities apply across all their runs. A crew with a limit gets its
 * own claim, for which the store counts the runs of every process. `round` rotates the order.
 */
function claimsFor(crews: readonly ServedCrew[], progress: Pick<InProgress, 'roomOf'>, round: number): Claim[] {
  const unlimited = crews.filter(({ maxRuns }) => maxRuns === undefined)
  const shared = {
    crew: unlimited.length === 1 ? unlimited[0] : undefined,
    lanes: unlimited.flatMap(({ lanes }) => lanes),
    limit: Infinity,
  }
  const separate = crews
    .filter(({ maxRuns }) => maxRuns !== undefined)
    .map((crew) => ({ crew, lanes: crew.lanes, limit: progress.roomOf(crew) }))
  const all = unlimited.length === 0 ? separate : [shared, ...separate]
  const first = round % Math.max(1, all.length)
  return [...all.slice(first), ...all.slice(0, first)]
}

interface ClaimResult {
  readonly runs: number
  /** False if this worker may have had too little room for all claimable runs. */
  readonly all: boolean
}

/** Makes each claim once and begins the claimed runs. `mine`: this store's runs in progress in this process. */
async function claimRuns(
  { claim }: ServedStore,
  claims: readonly Claim[],
  progress: InProgress,
  mine: ReadonlySet<RunId>,
  begin: (lease: TimedLease, crew: ServedCrew | undefined) => void,
): Promise<ClaimResult> {
  let runs = 0
  let all = true
  for (const { crew, lanes, limit } of claims) {
    const count = Math.min(limit, progress.room())
    if (count <= 0) {
      all = false
      continue
    }
    using _ = progress.reserve(count)
    const leases = await claim(lanes, {
      limit: count,
      exclude: mine,
      ...defined({ crewLimit: crew?.maxRuns }),
    })
    for (const lease of leases) begin(lease, crew)
    runs += leases.length
    all &&= leases.length < count
  }
  return { runs, all }
}

// Polls one store for ready runs: on a hint, when there is room again, and at intervals, since hints may be lost and
// runs may become ready just by time. An outage of the store does not end the polling.

export interface PollWork {
  readonly progress: InProgress
  readonly clock: Pick<World, 'now' | 'monotonic' | 'sleep' | 'random'>
  readonly report: OnWorkerEvent
  /** Ends the polling. */
  readonly stopping: AbortSignal
  /** Poll interval if no hint comes. */
  readonly pollMs: number
  /** Stop when `poll` resolves to true; reject if it fails. */
  readonly once: boolean
  /** Whether to poll on the hints of the store. Default: true. */
  readonly listens?: boolean
}

/** Minimum time between two polls caused by hints: every step of every run may send one. */
const hintMs = 50
/** A store that has not answered for this long counts as away. */
const silentMs = 10_000
const maxPauseMs = 30_000

/** `poll` resolves to true when no work is left. `round` counts the polls. */
export async function pollStore(
  served: ServedStore,
  { progress, clock, report, stopping, pollMs, once, listens = true }: PollWork,
  poll: (round: number, hints: Notifier) => Promise<boolean>,
): Promise<void> {
  const { url } = served.store
  const hints = createNotifier()
  const over = new AbortController()
  let away: { readonly since: number; tries: number } | undefined
  stopping.addEventListener('abort', hints.notify, { signal: over.signal })
  progress.onRoom(hints.notify)
  if (listens) void listen(served, clock, hints, over.signal)
  try {
    for (let round = 0; !stopping.aborted; round++) {
      if ((await pollOnce(round)) && once) return
      await waitFor(hints, jittered(clock, away ? Math.min(1_000 * 2 ** away.tries, maxPauseMs) : pollMs), clock)
    }
  } finally {
    over.abort()
  }

  async function pollOnce(round: number): Promise<boolean> {
    using _ = silenceTimer(clock, () => markAway(new Error(`it has not answered for ${silentMs / 1_000} seconds`)))
    try {
      const isDone = await poll(round, hints)
      report({ type: 'store-polled', store: url })
      if (away) report({ type: 'store-back', store: url, seconds: (clock.monotonic() - away.since) / 1_000 })
      away = undefined
      return isDone
    } catch (error) {
      if (once) throw error
      markAway(error)
      return false
    }
  }

  function markAway(error: unknown): void {
    if (!away) report({ type: 'store-away', store: url, error })
    away ??= { since: clock.monotonic(), tries: 0 }
    away.tries++
  }
}

/** Passes on the store's hints until the signal aborts. Errors only cost time, since the store is polled anyway. */
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

/** Calls `onSilent` after `silentMs`, unless disposed of before. */
function silenceTimer({ sleep }: Pick<World, 'sleep'>, onSilent: () => void): Disposable {
  const over = new AbortController()
  sleep(silentMs, over.signal).then(onSilent, () => undefined)
  return { [Symbol.dispose]: () => over.abort() }
}

/** Spreads the polls of workers that were started together. */
function jittered({ random }: Pick<World, 'random'>, ms: number): number {
  return ms * (0.75 + random() / 2)
}

/** Waits for a hint, at most for `ms`. Returns at once if a hint came since the last wait. */
async function waitFor(hints: Notifier, ms: number, { sleep }: Pick<World, 'sleep'>): Promise<void> {
  if (hints.consume()) return
  const over = new AbortController()
  await Promise.race([hints.wait(over.signal), sleep(ms, over.signal)]).catch(() => undefined)
  over.abort()
  hints.consume()
}
