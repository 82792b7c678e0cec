// What the routes work on: the store, the loaded crews, and the runs that this studio executes.
import type { Crew } from '../crew/crew.ts'
import type { CrewDescription } from '../crew/define/describe.ts'
import { openCrewStore } from '../crew/open-crew.ts'
import { openRuns, type Runs } from '../crew/open-runs.ts'
import { realClock } from '../base/clock.ts'
import { RepriseError, messageOf } from '../base/errors.ts'
import { rootRunId } from '../journal/paths.ts'
import type { Prices } from '../models/cost.ts'
import type { RunRow, Store } from '../stores/store.ts'
import { StudioProblem } from './api/problem.ts'
import { runNotFoundError, readRun } from '../read/read-run.ts'
import { createRunCache, type RunCache } from '../read/run-cache.ts'
import { checkRunId, canWake, isWoken, readSummary } from '../read/row-summary.ts'
import { waitForRun } from '../crew/result/result.ts'
import type { Run, RunPromise } from '../crew/run.ts'
import { defined } from '../base/options.ts'
import { waitIsOver } from '../runs/status.ts'
import { toRunTree, type RunTree } from '../runs/run-view.ts'
import { countOpenQuestions } from '../runs/summary.ts'
import { redact } from '../secrets/redact.ts'
import { seriallyByName } from '../base/notifier.ts'

export interface StudioContext {
  readonly runs: Runs
  readonly store: Store
  /** Reads runs for the page, which reads a run again with each of its events. */
  readonly cache: RunCache
  /** By name. */
  readonly crews: ReadonlyMap<string, LoadedCrew>
  /** The loaded crews and the crews nested in them, which can be viewed but not started. */
  readonly shown: ReadonlyMap<string, ShownCrew>
  /** The runs that this studio executes. */
  readonly own: OwnRuns
  /** Aborted on close: suspends the runs that this studio executes. */
  readonly signal: AbortSignal
  /** Backtests that this studio executes, by id. */
  readonly backtests: Map<string, RunningBacktest>
  close(): Promise<void>
}

interface RunningBacktest {
  readonly crew: string
  readonly task: string
  readonly createdAt: string
  /** Number of cases. */
  readonly total: number
  /** Stops the backtest, even within a trial. A backtest with the same id continues it. */
  stop(): void
  /** Never rejects. */
  readonly end: Promise<void>
}

/** The code of a crew. For a nested crew, `crew` is the loaded crew that contains it. */
export interface LoadedCrew {
  readonly crew: Crew
  readonly description: CrewDescription
}

export interface ShownCrew extends LoadedCrew {
  /** The crews that contain this crew as a task. Empty if the crew itself is loaded: its runs can be started. */
  readonly within: readonly string[]
}

/**
 * Opens the store, or uses the one that the crews share. Rejects with OPTION_INVALID if crews have the same name or
 * different stores, or with the errors of opening a store.
 */
export async function openContext(crews: readonly Crew[], store: string | Store | undefined): Promise<StudioContext> {
  const opened = store === undefined && crews.length > 0 ? undefined : await openCrewStore(store)
  try {
    const used = opened ? crews.map((crew) => crew.with({ store: opened })) : crews
    const stop = new AbortController()
    const backtests: StudioContext['backtests'] = new Map()
    const runs = await openRuns(opened ?? (await sharedStore(used)), { onOutage: () => {} })
    const own = ownRuns(runs.store, stop.signal)
    const loaded = crewsByName(used)
    return {
      runs,
      store: runs.store,
      cache: createRunCache(runs.store),
      crews: loaded,
      shown: withNestedCrews(loaded),
      own,
      signal: stop.signal,
      backtests,
      async close() {
        stop.abort()
        await own.idle()
        await Promise.all([...backtests.values()].map(({ end }) => end))
        // a store that came with the crews is closed by its owner
        if (opened) await opened.close()
      },
    }
  } catch (error) {
    await opened?.close()
    throw error
  }
}

/** Reads a run tree for `use`, as `RunCache` reads a run. */
export function useRunTree<T>(
  { cache, store }: StudioContext,
  run: string,
  use: (tree: RunTree) => T | Promise<T>,
): Promise<T> {
  return cache.use(run, async (state) => use(await toRunTree(store, state)))
}

/** Rejects with RUN_NOT_FOUND, or with OPTION_INVALID for an invalid id. */
export async function readRow({ store }: StudioContext, runId: string): Promise<RunRow> {
  const row = await store.row(checkRunId(runId))
  if (!row) throw runNotFoundError(store, runId)
  return row
}

/** Whether one of the loaded crews executes the run in this process. */
export function isHere({ crews }: StudioContext, runId: string): boolean {
  return [...crews.values()].some(({ crew }) => crew.run(runId).here)
}

/** Throws NO_CODE if the code of the crew isn't loaded. */
export function findCrew({ crews }: StudioContext, name: string): LoadedCrew {
  return crews.get(name) ?? refuseMissingCrew(name)
}

/** Finds a crew for viewing, which may be a nested crew. Throws NO_CODE. */
export function findShownCrew({ shown }: StudioContext, name: string): ShownCrew {
  return shown.get(name) ?? refuseMissingCrew(name)
}

/** Rejects with RUN_NOT_FOUND or NO_CODE. */
export async function crewOfRun(context: StudioContext, runId: string): Promise<Crew> {
  const { crew }: LoadedCrew = findCrew(context, (await readRow(context, runId)).crew)
  return crew
}

function refuseMissingCrew(name: string): never {
  const message = `the code of crew ${name} is not loaded; start the studio with the module that exports it`
  throw new StudioProblem('NO_CODE', message)
}

/** Rejects with OPTION_INVALID if the crews use different stores. */
async function sharedStore(crews: readonly Crew[]): Promise<Store> {
  const opened = await Promise.all(crews.map((crew) => crew.openStore()))
  const urls = [...new Set(opened.map(({ url }) => url))]
  const [store] = opened
  const isSeparate = urls.length > 1 || (urls[0] === 'memory:' && new Set(opened).size > 1)
  if (isSeparate || !store) {
    const names = crews.map(({ name }) => name).join(', ')
    const stores = urls.length > 1 ? `different stores (${urls.join(', ')})` : 'separate stores in memory'
    throw new RepriseError('OPTION_INVALID', `the crews ${names} use ${stores}; a studio shows one store: set store`)
  }
  return store
}

function crewsByName(crews: readonly Crew[]): Map<string, LoadedCrew> {
  const loaded = new Map<string, LoadedCrew>()
  for (const crew of crews) {
    if (loaded.has(crew.name))
      throw new RepriseError('OPTION_INVALID', `two crews are named ${crew.name}; rename one or leave it out`)
    loaded.set(crew.name, { crew, description: crew.describe() })
  }
  return loaded
}

function withNestedCrews(crews: ReadonlyMap<string, LoadedCrew>): Map<string, ShownCrew> {
  const shown = new Map<string, ShownCrew>()
  for (const [name, loaded] of crews) shown.set(name, { ...loaded, within: [] })
  const addNested = ({ crew, description: { name, tasks } }: LoadedCrew): void => {
    for (const { crew: description } of tasks) {
      if (!description || crews.has(description.name)) continue
      const { within = [] } = shown.get(description.name) ?? {}
      if (within.includes(name)) continue
      shown.set(description.name, { crew, description, within: [...within, name] })
      addNested({ crew, description })
    }
  }
  for (const crew of crews.values()) addNested(crew)
  return shown
}

/** The prices that apply to a run: those of its root run's crew. */
export async function runPrices(context: StudioContext, run: string, crew: string): Promise<Prices | undefined> {
  return context.crews.get(await rootCrew(context, run, crew))?.crew.prices
}

/**
 * The code that a run is executed with. For a child run, it comes from the root run's crew, which may replace models.
 * The code of a nested crew that is loaded on its own is only the fallback.
 */
export async function runCode(context: StudioContext, run: string, crew: string): Promise<LoadedCrew | undefined> {
  const root = context.crews.get(await rootCrew(context, run, crew))
  const description = root && findDescription(root.description, crew)
  return description ? { crew: root.crew, description } : context.shown.get(crew)
}

async function rootCrew({ store }: StudioContext, run: string, crew: string): Promise<string> {
  const root = rootRunId(run)
  return root === run ? crew : ((await store.row(root))?.crew ?? crew)
}

/** Finds a description by name: that of the crew itself, or of a crew nested in it. */
function findDescription(description: CrewDescription, name: string): CrewDescription | undefined {
  if (description.name === name) return description
  for (const { crew } of description.tasks) {
    const found = crew && findDescription(crew, name)
    if (found) return found
  }
  return undefined
}

// The runs that this studio executes. A run that waits for people is resumed here as soon as its last question is
// answered, whichever process records the answer. So runs started on the page need no worker. A run that another
// process has executed since then is left to workers. None of this is stored: when the studio stops, a run that has its
// answers is ready for a worker or a resume.

interface OwnRuns {
  /** Tracks a started run. Returns its id as soon as the run is stored. Rejects if the run could not be started. */
  track(crew: Crew, started: RunPromise): Promise<string>
  /** Resumes a root run if its last question was answered. Returns whether this studio executes the run now. */
  resumeIfAnswered(root: string): Promise<boolean>
  /** Resolves when no run is being started or watched. Abort the signal first. */
  idle(): Promise<void>
}

interface OwnRun {
  readonly crew: Crew
  readonly run: string
  /** How many processes had worked on the run when it was suspended here. Undefined while the studio executes it. */
  lives?: number
}

/** How long to wait before reading the run again when the store is unavailable. */
const outagePauseMs = 1_000

function ownRuns(store: Store, signal: AbortSignal): OwnRuns {
  const runs = new Map<string, OwnRun>()
  const inTurn = seriallyByName()
  const underWay = new Set<Promise<unknown>>()

  /** Includes the work in `idle`. */
  function whileUnderWay<T>(work: Promise<T>): Promise<T> {
    const settled = Promise.allSettled([work]).finally(() => underWay.delete(settled))
    underWay.add(settled)
    return work
  }

  async function track(crew: Crew, started: RunPromise): Promise<string> {
    const run = await whileUnderWay(started.started)
    const own: OwnRun = { crew, run: run.id }
    runs.set(run.id, own)
    void followSilently(run)
    void whileUnderWay(watch(own, run))
    return run.id
  }

  /** Waits until the run rests. If it then waits for people, resumes it once it has its answers. Never rejects. */
  async function watch(own: OwnRun, run: Run): Promise<void> {
    await run.result().catch(() => undefined)
    const row = await store.row(own.run).catch(() => undefined)
    const summary = row && readSummary(row)
    if (row?.status !== 'suspended' || !summary || !canWake(summary)) return forget(own)
    own.lives = summary.lives
    const source = { store, world: realClock }
    while (runs.get(own.run) === own && !signal.aborted)
      await waitForRun(source, own.run, () => inTurn(own.run, () => tryResume(own)), signal).catch((error: unknown) =>
        isOutage(error) ? realClock.sleep(outagePauseMs, signal).catch(() => undefined) : forget(own),
      )
  }

  /**
   * Resumes the run if it has its answers. Returns `here` if it did, `dropped` if the run is no longer this studio's to
   * resume, and undefined if the run still waits.
   */
  async function tryResume(own: OwnRun): Promise<'here' | 'dropped' | undefined> {
    if (signal.aborted || runs.get(own.run) !== own) return 'dropped'
    if (own.lives === undefined) return undefined
    const row = await store.row(own.run)
    if (!row || !isUntouched(row, own)) {
      forget(own)
      return 'dropped'
    }
    const summary = readSummary(row)
    if (!isWoken(summary) && !waitIsOver(summary)) return undefined
    // a flow goes on with each answer and event
    if (!summary.flow && (await countOpenQuestions(store, row)) > 0) return undefined
    return resumeHere(own)
  }

  async function resumeHere(own: OwnRun): Promise<'here' | 'dropped' | undefined> {
    const { crew, run } = own
    try {
      // a resume must stop after the same task as the start
      const { through } = (await readRun(store, run)).state
      await track(crew, crew.run(run).resume({ ...defined({ through }), signal }))
      return 'here'
    } catch (error) {
      // the process that recorded the answer still holds the run, or a worker was faster: try again later
      if (RepriseError.isInstance(error) && error.code === 'RUN_HELD') return undefined
      if (isOutage(error)) throw error
      forget(own)
      const reason = redact(messageOf(error))
      crew.logger.warn(`run ${run} has its answers, but the studio can't resume it: ${reason}`)
      return 'dropped'
    }
  }

  function forget(own: OwnRun): void {
    if (runs.get(own.run) === own) runs.delete(own.run)
  }

  return {
    track,
    async resumeIfAnswered(root) {
      const own = runs.get(root)
      if (!own) return false
      const outcome = await whileUnderWay(inTurn(root, () => tryResume(own)).catch(() => undefined))
      const now = runs.get(root)
      return outcome === 'here' || (now !== undefined && now.lives === undefined)
    },
    async idle() {
      while (underWay.size > 0) await Promise.allSettled(underWay)
    },
  }
}

/** Whether no other process has executed the run since this studio did. */
function isUntouched(row: RunRow, { lives }: OwnRun): boolean {
  const summary = readSummary(row)
  return row.status === 'suspended' && summary.lives === lives && !summary.imported
}

function isOutage(error: unknown): boolean {
  return RepriseError.isInstance(error) && (error.code === 'STORE_UNAVAILABLE' || error.code === 'OUTCOME_UNKNOWN')
}

/**
 * Follows the run, because replies are streamed only while something follows it. A page that is opened during a reply
 * then also gets the start of the reply.
 */
async function followSilently(run: Run): Promise<void> {
  try {
    for await (const _ of run.events());
  } catch {
    // the error is in the journal
  }
}
