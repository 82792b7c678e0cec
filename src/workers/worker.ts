// A worker claims ready runs of its crews and advances them, many at a time, until it is stopped. It has no state of
// its own: if it is killed, other workers continue its runs.
import { type AdvanceWork, startTime } from './advance-run.ts'
import type { Crew } from '../crew/crew.ts'
import type { World } from '../engine/definition.ts'
import { defined } from '../base/options.ts'
import type { WorkerPartEvent } from './report/events.ts'
import { createHealth, type WorkerHealth, serveHttp, createMetrics } from './report/serve-http.ts'
import { dispatchedWork } from './dispatch/dispatched-work.ts'
import { sweepStore } from './dispatch/sweep-store.ts'
import { newInProgress, serve, type ServedCrew, type ServedStore, worldOf } from './served.ts'
import { keepSchedulesUntil, keepSchedules } from './keep-schedules.ts'
import { readWorkerOptions, type WorkerOptions } from './worker-options.ts'
import { serveStore } from './serve-store.ts'

export interface Worker extends AsyncDisposable {
  /** Where `/health` and `/metrics` are served, with a `port`. */
  readonly url: string | undefined
  /**
   * Resolves when the worker has stopped; with `once`, when no run is ready. Rejects if the dispatcher cannot be
   * served, and, with `once`, if a store is unavailable.
   */
  readonly done: Promise<void>
  /**
   * Stops claiming and hands its runs back after their current step, or after the grace period at the latest. Another
   * worker continues them. Resolves with `done`.
   */
  stop(options?: { readonly graceSeconds?: number }): Promise<void>
  health(): WorkerHealth
  /** Prometheus text format. */
  metrics(): string
}

/**
 * Starts a worker in this process. OPTION_INVALID, OPTION_UNKNOWN, and the errors of opening a store. Later failures
 * are reported to `onEvent`.
 */
export async function startWorker(crews: readonly Crew[], options: WorkerOptions = {}): Promise<Worker> {
  const settings = readWorkerOptions(crews, options)
  return workOn(await serve(crews, settings), settings, worldOf(crews))
}

type Settings = ReturnType<typeof readWorkerOptions>
type Clock = Pick<World, 'now' | 'monotonic' | 'sleep' | 'timer' | 'random'>

/** How long to wait after a hard stop for tools that ignore their signal and for stores that do not answer. */
const ignoreAfterMs = 5_000

export async function workOn(stores: readonly ServedStore[], settings: Settings, clock: Clock): Promise<Worker> {
  const { name, concurrency, sliceSeconds, graceSeconds, once, port, host, onEvent, dispatcher } = settings
  const progress = newInProgress(concurrency)
  const metrics = createMetrics(clock.now)
  const health = createHealth(clock)
  const stopping = new AbortController()
  const hard = new AbortController()
  const crews = stores.flatMap((served) => served.crews)
  const schedules = keepSchedules(crews, report, clock)

  function report(event: WorkerPartEvent): void {
    metrics.record(event)
    health.record(event)
    if (event.type !== 'store-asked') onEvent?.(event)
  }
  const time: AdvanceWork['time'] = (asked = {}) =>
    startTime(
      {
        until: [stopping.signal, asked.until],
        sliceSeconds: [sliceSeconds, asked.sliceSeconds],
        signal: hard.signal,
      },
      clock,
    )

  const reports = { health: () => health.read(progress.runs().length), metrics: () => metrics.text() }
  const http = port === undefined ? undefined : await serveHttp(reports, host, port)
  report({
    type: 'started',
    ...defined({ name }),
    crews: crews.map((crew) => crew.name),
    stores: stores.map(({ store }) => store.url),
    concurrency,
    ...defined({ maxRuns: crewLimits(crews), dispatcher: dispatcher?.name, url: http?.url }),
  })
  const done = work()
  // a failure that the caller does not handle is reported to `onEvent`
  done.catch(() => undefined)

  async function work(): Promise<void> {
    const over = new AbortController()
    try {
      // first, so that `once` also executes scheduled runs that are due now
      await schedules.keep()
      const keeping = once ? undefined : keepSchedulesUntil(schedules, clock, stopping.signal)
      await Promise.race([serveAll().then(() => progress.done()), giveUpAfterCut(over.signal)])
      await keeping
    } finally {
      over.abort()
      report({ type: 'stopped' })
      await http?.[Symbol.asyncDispose]()
    }
  }

  /** Resolves when the worker stops; with `once`, when no work is left. */
  async function serveAll(): Promise<void> {
    const pollMs = settings.pollSeconds * 1_000
    const each = { progress, clock, report, stopping: stopping.signal, time, pollMs, once }
    if (!dispatcher) {
      await Promise.all(stores.map((one) => serveStore(one, each)))
      return
    }
    const dispatched = dispatchedWork(dispatcher, stores, { ...each, concurrency })
    const serving = dispatcher.serve?.(dispatched)
    // failures are reported as events
    const take = (runId: string): Promise<void> =>
      dispatched.advance(runId).then(
        () => undefined,
        () => undefined,
      )
    const resendMs = settings.resendSeconds * 1_000
    const sweeps = stores.map((one) => sweepStore(one, { ...each, dispatcher, resendMs, ...(serving && { take }) }))
    // a dispatcher that cannot be served ends the worker
    serving?.catch(() => stopping.abort())
    await Promise.all([serving, ...sweeps])
  }

  /** Resolves some seconds after a hard stop, whether or not tools and stores have ended. */
  async function giveUpAfterCut(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    hard.signal.addEventListener('abort', () => resolve(), { signal })
    await promise
    await clock.sleep(ignoreAfterMs, signal).catch(() => undefined)
  }

  async function stop(grace = graceSeconds): Promise<void> {
    if (!stopping.signal.aborted) {
      report({ type: 'stopping', inProgress: progress.runs().length })
      stopping.abort()
    }
    const ended = new AbortController()
    const end = (): void => ended.abort()
    done.then(end, end)
    await clock.sleep(grace * 1_000, ended.signal).then(cut, () => undefined)
    await done
  }

  function cut(): void {
    if (!hard.signal.aborted) report({ type: 'cut-off', runs: progress.runs() })
    hard.abort()
  }

  return {
    url: http?.url,
    done,
    stop: ({ graceSeconds: grace } = {}) => stop(grace),
    ...reports,
    [Symbol.asyncDispose]: () => stop(),
  }
}

function crewLimits(crews: readonly ServedCrew[]): { [crew: string]: number } | undefined {
  const limits = crews.flatMap(({ name, maxRuns }) => (maxRuns === undefined ? [] : [[name, maxRuns] as const]))
  return limits.length === 0 ? undefined : Object.fromEntries(limits)
}
