// A worker claims ready runs of its crews and advances them, many at a time, until it is stopped. It has no state of
// its own: if it is killed, other workers continue its runs.
import { type AdvanceWork, startSlice } from './advance-run.ts'
import type { Crew } from '../crew/crew.ts'
import type { World } from '../engine/definition.ts'
import { defined } from '../base/options.ts'
import type { WorkerPartEvent } from './report/events.ts'
import { createHealth, type WorkerHealth, serveHttp, createMetrics } from './report/serve-http.ts'
import { dispatchedWork } from './dispatch/dispatched-work.ts'
import { sweepStore } from './dispatch/sweep-store.ts'
import { newInProgress, serve, type ServedCrew, type ServedStore, worldOf } from './served.ts'
import { keepSchedulesUntil, keepSchedules } from './keep-schedules.ts'
import { keepAddedSchedules } from './added-schedules.ts'
import { readWorkerOptions, type WorkerOptions, type WorkerSettings } from './worker-options.ts'
import { serveStore } from './serve-store.ts'

export interface Worker extends AsyncDisposable {
  /** Base URL of `/health` and `/metrics`. Undefined without `port`. */
  readonly url: string | undefined
  /**
   * Resolves when the worker has stopped; with `once`, when no run is ready. Rejects if `serve` of the
   * dispatcher fails, and, with `once`, if a store is unavailable.
   */
  readonly done: Promise<void>
  /**
   * Stops claiming, and releases each run when its current step ends, or after the grace period at the latest. Other
   * workers continue the runs. Resolves with `done`.
   */
  stop(options?: { readonly graceSeconds?: number }): Promise<void>
  health(): WorkerHealth
  /** Prometheus text format. */
  metrics(): string
}

/**
 * Starts a worker in this process. Rejects with OPTION_INVALID, OPTION_UNKNOWN or the errors of opening a store. Later
 * failures are events, or reject `done`.
 */
export async function startWorker(crews: readonly Crew[], options: WorkerOptions = {}): Promise<Worker> {
  const settings = readWorkerOptions(crews, options)
  return workOn(await serve(crews, settings), settings, worldOf(crews))
}

type Clock = Pick<World, 'now' | 'monotonic' | 'sleep' | 'timer' | 'random'>

/** After a hard stop: how long to wait for tools that ignore their signal and for stores that do not answer. */
const abandonAfterMs = 5_000

export async function workOn(stores: readonly ServedStore[], settings: WorkerSettings, clock: Clock): Promise<Worker> {
  const { name, concurrency, sliceSeconds, graceSeconds, once, port, host, onEvent, dispatcher } = settings
  const progress = newInProgress(concurrency)
  const metrics = createMetrics(clock.now)
  const health = createHealth(clock)
  const stopping = new AbortController()
  const hardStop = new AbortController()
  const crews = stores.flatMap((served) => served.crews)
  const schedules = keepSchedules(crews, report, clock)

  function report(event: WorkerPartEvent): void {
    metrics.record(event)
    health.record(event)
    if (event.type !== 'store-polled') onEvent?.(event)
  }
  const sliceOf: AdvanceWork['startSlice'] = (limits = {}) =>
    startSlice(
      {
        until: [stopping.signal, limits.until],
        sliceSeconds: [sliceSeconds, limits.sliceSeconds],
        signal: hardStop.signal,
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
  // no unhandled rejection if the caller ignores `done`
  done.catch(() => undefined)

  async function work(): Promise<void> {
    const over = new AbortController()
    try {
      // before serving, so that `once` also executes scheduled runs that are due now
      await schedules.keep()
      const keeping = once ? undefined : keepSchedulesUntil(schedules, clock, stopping.signal)
      const serving = once ? added().then(serveAll) : Promise.all([added(), serveAll()])
      await Promise.race([serving.then(() => progress.done()), abandonedAfterHardStop(over.signal)])
      await keeping
    } finally {
      over.abort()
      report({ type: 'stopped' })
      await http?.[Symbol.asyncDispose]()
    }
  }

  /** Like `serveAll`, for the schedules that were added to the stores. */
  function added(): Promise<void> {
    return keepAddedSchedules(stores, settings, { clock, report, stopping: stopping.signal, startSlice: sliceOf })
  }

  /** Resolves when the worker stops; with `once`, when no work is left. */
  async function serveAll(): Promise<void> {
    const pollMs = settings.pollSeconds * 1_000
    const shared = { progress, clock, report, stopping: stopping.signal, startSlice: sliceOf, pollMs, once }
    if (!dispatcher) {
      await Promise.all(stores.map((one) => serveStore(one, shared)))
      return
    }
    const dispatched = dispatchedWork(dispatcher, stores, { ...shared, concurrency })
    const serving = dispatcher.serve?.(dispatched)
    // the run stays ready after a failure, and the sweep sends another wake
    const advanceHere = (runId: string): Promise<void> =>
      dispatched.advance(runId).then(
        () => undefined,
        () => undefined,
      )
    const resendMs = settings.resendSeconds * 1_000
    const sweeps = stores.map((one) =>
      sweepStore(one, { ...shared, dispatcher, resendMs, ...(serving && { advanceHere }) }),
    )
    // the worker stops if `serve` fails
    serving?.catch(() => stopping.abort())
    await Promise.all([serving, ...sweeps])
  }

  /** Resolves a while after a hard stop, even if tools or stores still hang. */
  async function abandonedAfterHardStop(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    hardStop.signal.addEventListener('abort', () => resolve(), { signal })
    await promise
    await clock.sleep(abandonAfterMs, signal).catch(() => undefined)
  }

  async function stop(grace = graceSeconds): Promise<void> {
    if (!stopping.signal.aborted) {
      report({ type: 'stopping', inProgress: progress.runs().length })
      stopping.abort()
    }
    const ended = new AbortController()
    const end = (): void => ended.abort()
    done.then(end, end)
    await clock.sleep(grace * 1_000, ended.signal).then(cutOff, () => undefined)
    await done
  }

  function cutOff(): void {
    if (!hardStop.signal.aborted) report({ type: 'cut-off', runs: progress.runs() })
    hardStop.abort()
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
