// What a studio works on: one store and the loaded crews. Opened with the first request.
import { Crew } from '../crew/crew.ts'
import { type OpenCrew, openCrewStore } from '../crew/open-crew.ts'
import type { CrewDefinition, Engine } from '../engine/definition.ts'
import { realWorld, openEngine } from '../engine/world.ts'
import { RepriseError, messageOf } from '../base/errors.ts'
import { rootRunId } from '../journal/paths.ts'
import type { Prices } from '../models/cost.ts'
import type { RunRow, Store } from '../stores/store.ts'
import { StudioProblem } from './api/problem.ts'
import { runNotFoundError, readRun } from '../read/read-run.ts'
import { checkRunId, canWake, isWoken, readSummary } from '../read/row-summary.ts'
import { waitForRun } from '../crew/result/result.ts'
import type { Run, RunPromise } from '../crew/run.ts'
import { defined } from '../base/options.ts'
import { countOpenQuestions } from '../runs/summary.ts'
import { redact } from '../secrets/redact.ts'
import { seriallyByName } from '../base/notifier.ts'

export interface StudioContext {
  readonly engine: Engine
  readonly store: Store
  /** By name. */
  readonly crews: ReadonlyMap<string, LoadedCrew>
  /** Includes nested crews, which can be viewed, but run only as tasks. */
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
  /** Stops it, even within a trial. The same id continues it. */
  stop(): void
  /** Never rejects. */
  readonly end: Promise<void>
}

export interface LoadedCrew {
  readonly crew: Crew
  readonly open: OpenCrew
  readonly definition: CrewDefinition
}

export interface ShownCrew {
  readonly crew: Crew
  readonly definition: CrewDefinition
  /** Crews that this crew is only a task of. Empty if runs of it can be started. */
  readonly within: readonly string[]
}

/** OPTION_INVALID for crews with the same name or different stores; the errors of opening a store. */
export async function openContext(crews: readonly Crew[], given: string | Store | undefined): Promise<StudioContext> {
  const opened = given === undefined && crews.length > 0 ? undefined : await openCrewStore(given)
  try {
    const used = opened ? crews.map((crew) => withStore(crew, opened)) : crews
    const stop = new AbortController()
    const backtests: StudioContext['backtests'] = new Map()
    const engine = opened ? createEngine(opened) : await sharedEngine(used)
    const own = ownRuns(engine, stop.signal)
    const known = byName(used)
    return {
      engine,
      store: engine.store,
      crews: known,
      shown: withNested(known),
      own,
      signal: stop.signal,
      backtests,
      async close() {
        stop.abort()
        await own.idle()
        await Promise.all([...used.map(waitUntilIdle), ...[...backtests.values()].map(({ end }) => end)])
        // crews that brought their own store are closed by their owner
        if (opened) await opened.close()
      },
    }
  } catch (error) {
    await opened?.close()
    throw error
  }
}

/** RUN_NOT_FOUND, OPTION_INVALID for an invalid id. */
export async function readRow({ store }: StudioContext, runId: string): Promise<RunRow> {
  const row = await store.row(checkRunId(runId))
  if (!row) throw runNotFoundError(store, runId)
  return row
}

/** Whether one of the loaded crews executes the run in this process. */
export function isHere({ crews }: StudioContext, runId: string): boolean {
  return [...crews.values()].some(({ open }) => open.underWay.has(runId))
}

/** NO_CODE. */
export function findCrew({ crews }: StudioContext, name: string): LoadedCrew {
  return crews.get(name) ?? refuseMissingCrew(name)
}

/** As `findCrew`, but also finds nested crews, for viewing. NO_CODE. */
export function findShownCrew({ shown }: StudioContext, name: string): ShownCrew {
  return shown.get(name) ?? refuseMissingCrew(name)
}

/** RUN_NOT_FOUND, NO_CODE. */
export async function crewOfRun(context: StudioContext, runId: string): Promise<Crew> {
  const { crew }: LoadedCrew = findCrew(context, (await readRow(context, runId)).crew)
  return crew
}

function refuseMissingCrew(name: string): never {
  const words = `the code of crew ${name} is not loaded; start the studio with the module that exports it`
  throw new StudioProblem('NO_CODE', words)
}

function withStore(crew: Crew, store: Store): Crew {
  const copy: Crew = crew.with({ store })
  return copy
}

function createEngine(opened: Store): Engine {
  return openEngine(opened, realWorld(), { onOutage: () => {} })
}

/** The engine of the first crew, since all crews share one store. */
async function sharedEngine(crews: readonly Crew[]): Promise<Engine> {
  const engines = await Promise.all(crews.map((crew) => crew['~open'].engine()))
  const urls = [...new Set(engines.map(({ store }) => store.url))]
  const apart = urls.length > 1 || (urls[0] === 'memory:' && new Set(crews.map(({ store }) => store)).size > 1)
  if (apart || !engines[0]) {
    const words = `the crews ${crews.map(({ name }) => name).join(', ')} keep their runs in ${urls.join(' and ')}${urls.length > 1 ? '' : ' stores of their own'}; a studio shows one store: give store`
    throw new RepriseError('OPTION_INVALID', words)
  }
  return engines[0]
}

function byName(crews: readonly Crew[]): Map<string, LoadedCrew> {
  const known = new Map<string, LoadedCrew>()
  for (const crew of crews) {
    if (known.has(crew.name)) {
      const words = `two crews are named ${crew.name}; rename one or leave it out`
      throw new RepriseError('OPTION_INVALID', words)
    }
    known.set(crew.name, { crew, open: crew['~open'], definition: crew['~definition']({}) })
  }
  return known
}

function withNested(crews: ReadonlyMap<string, LoadedCrew>): Map<string, ShownCrew> {
  const shown = new Map<string, ShownCrew>()
  for (const { crew, definition } of crews.values()) shown.set(crew.name, { crew, definition, within: [] })
  const add = ({ crew, definition }: Omit<ShownCrew, 'within'>): void => {
    for (const [index, { child }] of definition.tasks.entries()) {
      const inner: unknown = crew.tasks[index]?.child?.crew
      if (!child || !Crew.isInstance(inner) || crews.has(inner.name)) continue
      const { within = [] } = shown.get(inner.name) ?? {}
      if (within.includes(crew.name)) continue
      const nested = { crew: inner, definition: child.crew }
      shown.set(inner.name, { ...nested, within: [...within, crew.name] })
      add(nested)
    }
  }
  for (const known of crews.values()) add(known)
  return shown
}

/** The prices that apply to a run: those of its root's crew. */
export async function runPrices(context: StudioContext, run: string, crew: string): Promise<Prices | undefined> {
  return context.crews.get(await rootCrew(context, run, crew))?.definition.prices
}

/**
 * The definition that a run is executed by. That of a child run comes from its root's crew, which may replace models,
 * even if the nested crew is also loaded on its own.
 */
export async function runDefinition(
  context: StudioContext,
  run: string,
  crew: string,
): Promise<CrewDefinition | undefined> {
  const root = context.crews.get(await rootCrew(context, run, crew))
  return (root && findDefinition(root.definition, crew)) ?? context.shown.get(crew)?.definition
}

async function rootCrew({ store }: StudioContext, run: string, crew: string): Promise<string> {
  const root = rootRunId(run)
  return root === run ? crew : ((await store.row(root))?.crew ?? crew)
}

/** The crew with this name: the given one, or one that is nested in it. */
function findDefinition(crew: CrewDefinition, name: string): CrewDefinition | undefined {
  if (crew.name === name) return crew
  for (const { child } of crew.tasks) {
    const found = child && findDefinition(child.crew, name)
    if (found) return found
  }
  return undefined
}

/** Resolves when the crew executes no run. */
async function waitUntilIdle(crew: Crew): Promise<void> {
  await Promise.allSettled([...crew['~open'].underWay.values()].map(({ end }) => end))
}

// The runs that this studio executes. A run that waits for people continues here as soon as its last question is
// answered, wherever that happens, so runs started on the page need no worker. A run that another process has executed
// since is left to workers. None of this is stored: when the studio stops, the run is ready for a worker or a resume.

interface OwnRuns {
  /** Returns the id once the run is stored; its journal reports the progress. Rejects if the call is refused. */
  begin(crew: Crew, started: RunPromise): Promise<string>
  /** Call it after an answer to the run or a child run. Returns whether this studio executes the run. */
  answered(root: string): Promise<boolean>
  /** Resolves when no run is being started or followed. Abort the signal first. */
  idle(): Promise<void>
}

interface OwnRun {
  readonly crew: Crew
  readonly run: string
  /** Lives of the run when this studio suspended it. Undefined while the studio executes it. */
  lives?: number
}

/** Pause before the next look when the store is unavailable. */
const pauseMs = 1_000

function ownRuns(engine: Engine, signal: AbortSignal): OwnRuns {
  const { store, world } = engine
  const runs = new Map<string, OwnRun>()
  const inTurn = seriallyByName()
  const underWay = new Set<Promise<unknown>>()

  async function begin(crew: Crew, started: RunPromise): Promise<string> {
    const run = await started.started
    const own: OwnRun = { crew, run: run.id }
    runs.set(run.id, own)
    void followSilently(run)
    const kept = keep(own, run).finally(() => underWay.delete(kept))
    underWay.add(kept)
    return run.id
  }

  /** Watches the run until it continues, here or elsewhere, or waits for nothing. Never rejects. */
  async function keep(own: OwnRun, run: Run): Promise<void> {
    const tree = await run['~unit']().catch(() => undefined)
    if (tree?.state.status !== 'suspended' || !canWake(tree.state)) return forget(own)
    own.lives = tree.state.lives
    while (runs.get(own.run) === own && !signal.aborted)
      await waitForRun(engine, own.run, () => inTurn(own.run, () => look(own)), signal).catch((error: unknown) =>
        isAway(error) ? world.sleep(pauseMs, signal).catch(() => undefined) : forget(own),
      )
  }

  /** Undefined: look again later. */
  async function look(own: OwnRun): Promise<'here' | 'left' | undefined> {
    if (signal.aborted || runs.get(own.run) !== own) return 'left'
    if (own.lives === undefined) return undefined
    const row = await store.row(own.run)
    if (!row || !isUntouched(row, own)) {
      forget(own)
      return 'left'
    }
    if (!isWoken(readSummary(row)) || (await countOpenQuestions(store, row)) > 0) return undefined
    return continued(own)
  }

  async function continued(own: OwnRun): Promise<'here' | 'left' | undefined> {
    const { crew, run } = own
    try {
      // up to the task that was requested at the start
      const { through } = (await readRun(store, run)).state
      await begin(crew, crew.run(run).resume({ ...defined({ through }), signal }))
      return 'here'
    } catch (error) {
      // the process that recorded the answer still holds it, or a worker was first: the next look finds out
      if (RepriseError.isInstance(error) && error.code === 'RUN_HELD') return undefined
      if (isAway(error)) throw error
      forget(own)
      const why = redact(messageOf(error))
      crew['~open'].definition.logger.warn(`run ${run} has its answers, but the studio cannot continue it: ${why}`)
      return 'left'
    }
  }

  function forget(own: OwnRun): void {
    if (runs.get(own.run) === own) runs.delete(own.run)
  }

  return {
    begin,
    async answered(root) {
      const own = runs.get(root)
      if (!own) return false
      const looked = inTurn(root, () => look(own)).catch(() => undefined)
      underWay.add(looked)
      const outcome = await looked.finally(() => underWay.delete(looked))
      const now = runs.get(root)
      return outcome === 'here' || (now !== undefined && now.lives === undefined)
    },
    async idle() {
      while (underWay.size > 0) await Promise.allSettled(underWay)
    },
  }
}

/** Whether no other process has executed the run since. */
function isUntouched(row: RunRow, { lives }: OwnRun): boolean {
  const summary = readSummary(row)
  return row.status === 'suspended' && summary.lives === lives && !summary.imported
}

function isAway(error: unknown): boolean {
  return RepriseError.isInstance(error) && (error.code === 'STORE_UNAVAILABLE' || error.code === 'OUTCOME_UNKNOWN')
}

/** Models stream only while someone follows the run. Following from the start lets a page that opens later catch up. */
async function followSilently(run: Run): Promise<void> {
  try {
    for await (const _ of run.events());
  } catch {
    // the journal has the error
  }
}
