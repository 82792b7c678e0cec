// A worker: takes ready runs of its crews out of their stores and advances them, many at a time, until it is told to
// stop. It keeps nothing of its own: killed at any moment, it leaves runs that another worker continues.
import type { AdvanceWork } from './advance-run.ts'
import type { Crew } from '../crew/crew.ts'
import type { World } from '../engine/definition.ts'
import { realWorld } from '../engine/world.ts'
import { defined } from '../base/defined.ts'
import type { WorkerPartEvent } from './report/events.ts'
import { createHealth, type WorkerHealth } from './report/health.ts'
import { dispatchedWork } from './dispatch/dispatched-work.ts'
import { sweepStore } from './dispatch/sweep-store.ts'
import { newInProgress } from './in-progress.ts'
import { keepSchedulesUntil, keepSchedules } from './keep-schedules.ts'
import { createMetrics } from './report/metrics.ts'
import { readWorkerOptions, type WorkerOptions } from './worker-options.ts'
import { serveHttp } from './report/serve-http.ts'
import { serveStore } from './serve-store.ts'
import { serve, type ServedCrew, type ServedStore } from './served.ts'
import { startTime } from './time.ts'

export interface Worker extends AsyncDisposable {
  /** Where `/health` and `/metrics` are served, with a `port`. */
  readonly url: string | undefined
  /**
   * Resolves when the worker has stopped, or, with `once`, when nothing is ready any more. Rejects, with `once`, with
   * the error of a store that cannot be asked; and with that of a dispatcher that cannot be served at all.
   */
  readonly done: Promise<void>
  /**
   * Claims nothing more, and hands its runs back between two steps; those that are not handed back after the grace, at
   * once. They stay due: another worker continues them. Resolves as `done` does.
   */
  stop(options?: { readonly graceSeconds?: number }): Promise<void>
  health(): WorkerHealth
  /** In the text format of Prometheus. */
  metrics(): string
}

/**
 * Starts a worker in this process. OPTION_INVALID, OPTION_UNKNOWN; what opening a store gives. Afterwards nothing
 * rejects: what goes wrong is told to `onEvent`.
 */
export async function startWorker(crews: readonly Crew[], options: WorkerOptions = {}): Promise<Worker> {
  const settings = readWorkerOptions(crews, options)
  return workOn(await serve(crews, settings), settings, realWorld())
}

type Settings = ReturnType<typeof readWorkerOptions>
type Clock = Pick<World, 'now' | 'monotonic' | 'sleep' | 'timer'>

/** After a hard stop, a tool that does not hear its signal, or a store, is not waited for any longer than this. */
const deafMs = 5_000

export async function workOn(stores: readonly ServedStore[], settings: Settings, clock: Clock): Promise<Worker> {
  const { name, concurrency, sliceSeconds, graceSeconds, once, port, host, onEvent, dispatcher } = settings
  const progress = newInProgress(concurrency)
  const metrics = createMetrics(clock.now)
  const keeper = createHealth(clock)
  const stopping = new AbortController()
  const hard = new AbortController()
  const crews = stores.flatMap((served) => served.crews)
  const schedules = keepSchedules(crews, hear, clock)

  function hear(heard: WorkerPartEvent): void {
    metrics.hear(heard)
    keeper.hear(heard)
    if (heard.event !== 'asked') onEvent?.(heard)
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

  const shown = { health: () => keeper.health(progress.runs().length), metrics: () => metrics.text() }
  const http = port === undefined ? undefined : await serveHttp(shown, host, port)
  hear({
    event: 'started',
    ...defined({ name }),
    crews: crews.map((crew) => crew.name),
    stores: stores.map(({ store }) => store.url),
    concurrency,
    ...defined({ maxRuns: limitsOf(crews), dispatcher: dispatcher?.name, url: http?.url }),
  })
  const done = work()
  // whoever does not look at it is told by `onEvent`
  done.catch(() => undefined)

  async function work(): Promise<void> {
    const over = new AbortController()
    try {
      // first, so that with `once` a run whose time has come is there
      await schedules.keep()
      const keeping = once ? undefined : keepSchedulesUntil(schedules, clock, stopping.signal)
      await Promise.race([serveAll().then(() => progress.done()), deaf(over.signal)])
      await keeping
    } finally {
      over.abort()
      hear({ event: 'stopped' })
      await http?.[Symbol.asyncDispose]()
    }
  }

  /** Until the worker stops, or, with `once`, nothing is left to do. */
  async function serveAll(): Promise<void> {
    const pollMs = settings.pollSeconds * 1_000
    const each = { progress, clock, hear, stopping: stopping.signal, time, pollMs, once }
    if (!dispatcher) {
      await Promise.all(stores.map((one) => serveStore(one, each)))
      return
    }
    const dispatched = dispatchedWork(dispatcher, stores, { ...each, concurrency })
    const serving = dispatcher.serve?.(dispatched)
    // what goes wrong with it is heard
    const take = (runId: string): Promise<void> =>
      dispatched.advance(runId).then(
        () => undefined,
        () => undefined,
      )
    const resendMs = settings.resendSeconds * 1_000
    const sweeps = stores.map((one) => sweepStore(one, { ...each, dispatcher, resendMs, ...(serving && { take }) }))
    // one that cannot be served at all ends the worker
    serving?.catch(() => stopping.abort())
    await Promise.all([serving, ...sweeps])
  }

  /** Resolves when runs that were cut off and do not end, and stores that do not answer, are left alone. */
  async function deaf(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    hard.signal.addEventListener('abort', () => resolve(), { signal })
    await promise
    await clock.sleep(deafMs, signal).catch(() => undefined)
  }

  async function stop(grace = graceSeconds): Promise<void> {
    if (!stopping.signal.aborted) {
      hear({ event: 'stopping', inProgress: progress.runs().length })
      stopping.abort()
    }
    const ended = new AbortController()
    const end = (): void => ended.abort()
    done.then(end, end)
    await clock.sleep(grace * 1_000, ended.signal).then(cut, () => undefined)
    await done
  }

  function cut(): void {
    if (!hard.signal.aborted) hear({ event: 'cut-off', runs: progress.runs() })
    hard.abort()
  }

  return {
    url: http?.url,
    done,
    stop: ({ graceSeconds: grace } = {}) => stop(grace),
    ...shown,
    [Symbol.asyncDispose]: () => stop(),
  }
}

function limitsOf(crews: readonly ServedCrew[]): { [crew: string]: number } | undefined {
  const limits = crews.flatMap(({ name, maxRuns }) => (maxRuns === undefined ? [] : [[name, maxRuns] as const]))
  return limits.length === 0 ? undefined : Object.fromEntries(limits)
}
