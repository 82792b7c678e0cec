// Finds the run that a person names by its id, the beginning of its id, or `latest`. If the name is missing or
// ambiguous, the person at the terminal picks a run.
import { defined } from '../../base/options.ts'
import { isBacktest } from '../../read/backtest-name.ts'
import { allRows } from '../../read/all-rows.ts'
import { RepriseError } from '../../base/errors.ts'
import { readSummary, isReady } from '../../read/row-summary.ts'
import { isUnfinished, latestRun, runsNamed } from '../../runs/find.ts'
import { countOpenQuestions, rowStatus } from '../../runs/summary.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import { UsageError } from '../exit-codes.ts'
import { locateCrew, type Commands } from '../write-command.ts'
import { canAsk, terminalPerson } from '../input/ask-line.ts'
import { plural, shortTime } from '../../text/words.ts'
import { rootRunId } from '../../journal/paths.ts'
import type { Crew } from '../../crew/crew.ts'
import { openCrewStore } from '../../crew/open-crew.ts'
import type { CrewOptions, GlobalOptions } from '../command.ts'
import { crewFile, loadCrew, loadCrews, noCrewFile } from './load-crew.ts'
import { missingStore } from './open-runs.ts'
import { usualFile } from './usual-file.ts'

/** More than a person looks through. */
const mostListed = 500

type Fits = (row: RunRow) => boolean | Promise<boolean>

export interface Choice {
  /** Filters the list to pick from. */
  readonly fits?: Fits
  /** Which run is meant, if the command takes several: `first run`. */
  readonly which?: string
}

/**
 * RUN_NOT_FOUND, also for a run of another crew than `crew`; a usage error that lists the runs if the beginning is
 * ambiguous without a terminal. `crew` narrows down `latest`, and with `fits` the list to pick from.
 */
export async function findRun(
  store: Store,
  name: string | undefined,
  crew?: string,
  choice: Choice = {},
): Promise<RunRow> {
  if (name === undefined) return anyRun(store, crew, choice)
  if (name === 'latest') return (await latestRun(store, crew)) ?? noRunsError(store, crew)
  const row = await namedRun(store, name)
  if (crew !== undefined && row.crew !== crew) {
    throw otherCrewError(row, crew)
  }
  return row
}

/** RUN_NOT_FOUND for a run whose crew was not loaded. */
export function otherCrewError(row: RunRow, loaded: string): UsageError {
  const words = `run ${row.run} belongs to crew ${row.crew}, not to ${loaded}`
  const { module } = readSummary(row)
  return module && locateCrew(module)
    ? new UsageError(words, { code: 'RUN_NOT_FOUND', next: { type: 'module', to: 'load that crew', module } })
    : new UsageError(`${words}; name the file of that crew with --file`, {
        code: 'RUN_NOT_FOUND',
        next: { type: 'show', runId: row.run },
      })
}

async function namedRun(store: Store, name: string): Promise<RunRow> {
  const matches = await runsNamed(store, name)
  const [first] = matches
  if (first && matches.length === 1) return first
  if (canAsk()) return pickRun(store, `Which of the runs that begin with ${name}?`, matches)
  const named = async (row: RunRow): Promise<string> => `${row.run} (${row.crew}, ${await rowStatus(store, row)})`
  const shown = await Promise.all(matches.slice(0, 10).map(named))
  const more = matches.length > shown.length ? ` and ${matches.length - shown.length} more` : ''
  throw new UsageError(`${matches.length} runs begin with ${name}: ${shown.join(', ')}${more}; give more of the id`, {
    next: { type: 'runs' },
  })
}

/** A usage error without a terminal; RUN_NOT_FOUND if there is no run to pick. */
async function anyRun(store: Store, crew: string | undefined, { fits = () => true, which }: Choice): Promise<RunRow> {
  if (!canAsk()) {
    const what = which === undefined ? 'no run is named' : `the ${which} isn't named`
    throw new UsageError(`${what}; give its id, the beginning of it, or latest`, { next: { type: 'runs' } })
  }
  const rows = await someRows(store, crew, async (row) => !isBacktest(row.crew) && fits(row))
  if (rows.length === 0)
    throw new RepriseError('RUN_NOT_FOUND', `there is no such run in ${store.url}`, { next: { type: 'runs' } })
  return pickRun(store, which === undefined ? 'Which run?' : `Which is the ${which}?`, rows)
}

/** One of the crew's unfinished runs, if there are several and a terminal; undefined means the latest. */
export async function pickUnfinished(store: Store, crew: string): Promise<string | undefined> {
  if (!canAsk()) return undefined
  const rows = await someRows(store, crew, isUnfinished)
  return rows.length > 1 ? (await pickRun(store, 'Which run?', rows)).run : undefined
}

async function someRows(store: Store, crew: string | undefined, fits: Fits): Promise<RunRow[]> {
  const rows: RunRow[] = []
  for await (const row of allRows(store, defined({ crew }))) {
    if (await fits(row)) rows.push(row)
    if (rows.length === mostListed) break
  }
  return rows
}

/** A usage error if the person picks none. */
async function pickRun(store: Store, title: string, rows: readonly RunRow[]): Promise<RunRow> {
  const now = new Date()
  const choices: { value: RunRow; label: string; note: string }[] = []
  for (const row of rows) {
    const questions = await countOpenQuestions(store, row)
    const open = questions > 0 ? `, ${plural(questions, 'question')}` : ''
    const note = `${shortTime(row.createdAt, now)}  ${row.crew}  ${await rowStatus(store, row)}${open}`
    choices.push({ value: row, label: row.run, note })
  }
  const { pick } = await import('../input/pick.ts')
  const picked = await pick(title, choices, terminalPerson())
  if (picked) return picked
  throw new UsageError('no run was picked; name one', { next: { type: 'runs' } })
}

/** For commands that cannot be undone: the beginning of an id is enough only if the person confirms the run. */
export async function findRunToEnd(store: Store, name: string | undefined, asked: boolean): Promise<RunRow> {
  const row = await findRun(store, name)
  if (asked || name === undefined || row.run === name || name === 'latest') return row
  const words = `there is no run ${name}; to end or delete run ${row.run}, give its whole id`
  throw new RepriseError('RUN_NOT_FOUND', words, { runId: name, next: { type: 'runs' } })
}

function noRunsError(store: Store, crew: string | undefined): never {
  const what = crew === undefined ? 'there are no runs' : `crew ${crew} has no runs`
  throw new RepriseError('RUN_NOT_FOUND', `${what} in ${store.url} yet`, { next: { type: 'kickoff' } })
}

/** Notes the crew's file, and returns the run's id. */
export async function noteRun(commands: Commands, store: Store, row: RunRow): Promise<string> {
  // a child run continues with its root
  const top = await findRootRun(store, row.run)
  const resumed = top === row.run ? row : await store.row(top)
  commands.setCrew(resumed && readSummary(resumed).module)
  return row.run
}

/** The id of the root run, which is the run to resume. */
export async function findRootRun(store: Store, run: string): Promise<string> {
  const root = rootRunId(run)
  return (await store.row(root)) ? root : run
}

/** Which process picks the message up, and what to do if there is none. */
export async function whatNext(commands: Commands, store: Store, runId: string): Promise<string> {
  if ((await store.holder(runId)) !== undefined)
    return `its process will continue with that; ${commands.advice({ type: 'show', runId })}`
  const root = await findRootRun(store, runId)
  const resume = commands.advice({ type: 'resume', runId: root })
  return (await waitsForWorker(store, root)) ? `a worker will continue the run; without one, ${resume}` : resume
}

async function waitsForWorker(store: Store, runId: string): Promise<boolean> {
  const row = await store.row(runId)
  return row?.status === 'suspended' && isReady(readSummary(row))
}

// Finds the crew of a command about a run. If a file exports several crews, it is the crew of the run.

interface CrewOfRun {
  readonly crew: Crew
  /** What the person typed, or the whole id of the run if that was found already. */
  readonly name: string | undefined
}

/**
 * `name` is what a person typed for the run; without it, or for `latest`, the newest run that fits decides.
 * CREW_NOT_FOUND without a file, or if the runs don't tell which crew it is; RUN_NOT_FOUND for a run of a crew that the
 * file doesn't export.
 */
export async function loadCrewOfRun(
  { file, crew, store: given }: CrewOptions & GlobalOptions,
  name: string | undefined,
  fits: (row: RunRow) => boolean = () => true,
): Promise<CrewOfRun> {
  const path = file ?? usualFile() ?? (await refuseWithoutFile(given, name, fits))
  const crews = crew === undefined ? await loadCrews(path) : []
  const found = await inSharedStore(crews, given, (store) => owner(store, crews, name, fits))
  return found ?? { crew: await loadCrew(path, crew), name }

  async function owner(
    store: Store,
    among: readonly Crew[],
    typed: string | undefined,
    isMeant: (row: RunRow) => boolean,
  ): Promise<CrewOfRun | undefined> {
    if (typed === undefined || typed === 'latest') {
      for await (const row of allRows(store, { roots: true })) {
        const its = crewOfRow(row, among)
        if (its && isMeant(row)) return { crew: its, name: typed }
      }
      return undefined
    }
    const row = await findRun(store, typed)
    const its = crewOfRow(row, among)
    if (its) return { crew: its, name: row.run }
    if (among.some((each) => each.name === row.crew)) return undefined
    throw otherCrewError(row, `${among.map((each) => each.name).join(' or ')} of ${path}`)
  }
}

/** For commands that start a run, or continue the run with this id. CREW_NOT_FOUND, as for `loadCrew`. */
export async function loadCrewForId(
  file: string | undefined,
  { crew, store: given }: CrewOptions & GlobalOptions,
  id: string | undefined,
): Promise<Crew> {
  if (id === undefined || crew !== undefined) return loadCrew(file, crew)
  const crews = await loadCrews(crewFile(file))
  const found = await inSharedStore(crews, given, async (store) => {
    const row = await store.row(id)
    return row && crewOfRow(row, crews)
  })
  return found ?? loadCrew(file, crew)
}

/** Undefined if there are not several crews that share an existing store. */
async function inSharedStore<Found>(
  crews: readonly Crew[],
  given: string | undefined,
  find: (store: Store) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const [place, ...others] = new Set(crews.map(({ store }) => given ?? store))
  if (crews.length <= 1 || others.length > 0 || (await missingStore(place)) !== undefined) return undefined
  const store = await openCrewStore(place)
  try {
    return await find(store)
  } finally {
    // a store that the crews' file opened is theirs
    if (typeof place !== 'object') await store.close()
  }
}

/** If several crews have the run's name, the run's recorded export decides. */
function crewOfRow(row: RunRow, crews: readonly Crew[]): Crew | undefined {
  const named = crews.filter(({ name }) => name === row.crew)
  if (named.length <= 1) return named[0]
  const noted = readSummary(row).module?.export
  return named.find((crew) => noted !== undefined && crew['~open'].module?.export === noted)
}

/** CREW_NOT_FOUND. Names the file that the run was made with, if it still exists. */
async function refuseWithoutFile(
  place: string | undefined,
  name: string | undefined,
  fits: (row: RunRow) => boolean,
): Promise<never> {
  if ((await missingStore(place)) !== undefined) throw noCrewFile()
  const store = await openCrewStore(place)
  try {
    const row = await onlyRun(store, name, fits)
    const made = row && readSummary(row).module
    throw noCrewFile(made && locateCrew(made) ? made : undefined)
  } finally {
    await store.close()
  }
}

async function onlyRun(
  store: Store,
  name: string | undefined,
  fits: (row: RunRow) => boolean,
): Promise<RunRow | undefined> {
  if (name !== undefined && name !== 'latest') {
    const rows = await runsNamed(store, name)
    return rows.length === 1 ? rows[0] : undefined
  }
  for await (const row of allRows(store, { roots: true })) if (fits(row)) return row
  return undefined
}
