// Finds the run that a person names by its id, the beginning of its id, or `latest`, and loads the run's crew. If the
// name is missing or ambiguous, the person at the terminal picks a run.
import { defined } from '../../base/options.ts'
import { isBacktest } from '../../read/backtest-name.ts'
import { allRows } from '../../read/all-rows.ts'
import { isScheduleCrew } from '../../read/schedule-name.ts'
import { RepriseError } from '../../base/errors.ts'
import { readSummary, isReady } from '../../read/row-summary.ts'
import { readStateIfExists } from '../../read/read-run.ts'
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

/** The most runs to pick from. */
const maxListed = 500

type Fits = (row: RunRow) => boolean | Promise<boolean>

export interface Choice {
  /** Filters the list to pick from. */
  readonly fits?: Fits
  /** Which run is meant, if the command takes several: `first run`. */
  readonly which?: string
}

/**
 * Finds the named run. `crew` restricts what `latest` means; `crew` and `choice.fits` restrict the list to pick from.
 * Rejects with RUN_NOT_FOUND if there is no such run, or if it belongs to another crew than `crew`, and with a
 * UsageError if the person must pick and there is no terminal.
 */
export async function findRun(
  store: Store,
  name: string | undefined,
  crew?: string,
  choice: Choice = {},
): Promise<RunRow> {
  if (name === undefined) return pickAnyRun(store, crew, choice)
  if (name === 'latest') return (await latestRun(store, crew)) ?? noRunsError(store, crew)
  const row = await namedRun(store, name)
  if (crew !== undefined && row.crew !== crew) {
    throw otherCrewError(row, crew)
  }
  return row
}

/** Returns RUN_NOT_FOUND for a run whose crew was not loaded. */
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

/** Rejects with a UsageError without a terminal, and with RUN_NOT_FOUND if there is no run to pick. */
async function pickAnyRun(
  store: Store,
  crew: string | undefined,
  { fits = () => true, which }: Choice,
): Promise<RunRow> {
  if (!canAsk()) {
    const what = which === undefined ? 'no run is named' : `the ${which} isn't named`
    throw new UsageError(`${what}; give its id, the beginning of it, or latest`, { next: { type: 'runs' } })
  }
  const rows = await someRows(store, crew, async (row) => isListed(row) && fits(row))
  if (rows.length === 0)
    throw new RepriseError('RUN_NOT_FOUND', `there is no such run in ${store.url}`, { next: { type: 'runs' } })
  return pickRun(store, which === undefined ? 'Which run?' : `Which is the ${which}?`, rows)
}

/**
 * Lets the person pick one of several unfinished runs. Returns undefined, which stands for the latest run, if there are
 * fewer than two, or no terminal.
 */
export async function pickUnfinished(store: Store, crew: string): Promise<string | undefined> {
  if (!canAsk()) return undefined
  const rows = await someRows(store, crew, isUnfinished)
  return rows.length > 1 ? (await pickRun(store, 'Which run?', rows)).run : undefined
}

/** Whether a person may mean the run without naming it. */
function isListed({ crew }: RunRow): boolean {
  return !isBacktest(crew) && !isScheduleCrew(crew)
}

async function someRows(store: Store, crew: string | undefined, fits: Fits): Promise<RunRow[]> {
  const rows: RunRow[] = []
  for await (const row of allRows(store, defined({ crew }))) {
    if (await fits(row)) rows.push(row)
    if (rows.length === maxListed) break
  }
  return rows
}

/** Rejects with a UsageError if the person picks none. */
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

/**
 * Finds a run for commands that cannot be undone. The beginning of an id is enough only if the person is `asked` to
 * confirm the run.
 */
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

/** Sets the crew of printed commands to the run's crew, and returns the run's id. */
export async function noteRun(commands: Commands, store: Store, row: RunRow): Promise<string> {
  // a child run continues with its root
  const root = await findRootRun(store, row.run)
  const resumed = root === row.run ? row : await store.row(root)
  commands.setCrew(resumed && readSummary(resumed).module)
  return row.run
}

/** Returns the id of the run to resume: of the root, or of the run itself if its root no longer exists. */
export async function findRootRun(store: Store, run: string): Promise<string> {
  const root = rootRunId(run)
  return (await store.row(root)) ? root : run
}

/** Says which process acts on a message in the inbox, and what to do if there is none. */
export async function whatNext(commands: Commands, store: Store, runId: string): Promise<string> {
  if ((await store.holder(runId)) !== undefined)
    return `the process that executes the run takes it from here; ${commands.advice({ type: 'show', runId })}`
  const root = await findRootRun(store, runId)
  if (await isAgentRun(store, root))
    return `the run continues when kickoff of the agent is called again with id ${root}`
  const resume = commands.advice({ type: 'resume', runId: root })
  return (await waitsForWorker(store, root)) ? `a worker will continue the run; without one, ${resume}` : resume
}

/** Whether `agent.kickoff` made the run: workers and `resume` don't have its crew. */
async function isAgentRun(store: Store, runId: string): Promise<boolean> {
  const state = await readStateIfExists(store, runId)
  const [only, ...more] = state?.tasks.values() ?? []
  return state?.crew.startsWith('agent ') === true && more.length === 0 && only?.description === '{prompt}'
}

async function waitsForWorker(store: Store, runId: string): Promise<boolean> {
  const row = await store.row(runId)
  return row?.status === 'suspended' && isReady(readSummary(row))
}

interface CrewOfRun {
  readonly crew: Crew
  /** What the person typed, or the whole id if the run has already been found. */
  readonly name: string | undefined
}

/**
 * Loads the crew of a run, even if the file exports several crews. `name` is what the person typed for the run; without
 * it, or for `latest`, the newest run that fits decides. Rejects with CREW_NOT_FOUND without a file, or if no run
 * decides between several crews, and with RUN_NOT_FOUND for a run of a crew that the file doesn't export.
 */
export async function loadCrewOfRun(
  { file, crew, store: given }: CrewOptions & GlobalOptions,
  name: string | undefined,
  fits: (row: RunRow) => boolean = () => true,
): Promise<CrewOfRun> {
  const path = file ?? usualFile() ?? (await refuseWithoutFile(given, name, fits))
  const crews = crew === undefined ? await loadCrews(path) : []
  const found = await inSharedStore(crews, given, (store) => findOwner(store, crews, name, fits))
  return found ?? { crew: await loadCrew(path, crew), name }

  async function findOwner(
    store: Store,
    among: readonly Crew[],
    typed: string | undefined,
    isMeant: (row: RunRow) => boolean,
  ): Promise<CrewOfRun | undefined> {
    if (typed === undefined || typed === 'latest') {
      for await (const row of allRows(store, { roots: true })) {
        const owner = crewOfRow(row, among)
        if (owner && isMeant(row)) return { crew: owner, name: typed }
      }
      return undefined
    }
    const row = await findRun(store, typed)
    const owner = crewOfRow(row, among)
    if (owner) return { crew: owner, name: row.run }
    if (among.some((each) => each.name === row.crew)) return undefined
    throw otherCrewError(row, `${among.map((each) => each.name).join(' or ')} of ${path}`)
  }
}

/** Loads the crew to start a run, or to continue the run with this id. Rejects with CREW_NOT_FOUND, like `loadCrew`. */
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

/** Calls `find` if there are several crews that share an existing store; otherwise returns undefined. */
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
    // a store object was opened by the crews' file, which also closes it
    if (typeof place !== 'object') await store.close()
  }
}

/** Returns the run's crew, by its name. If several crews have that name, the export that the run recorded decides. */
function crewOfRow(row: RunRow, crews: readonly Crew[]): Crew | undefined {
  const named = crews.filter(({ name }) => name === row.crew)
  if (named.length <= 1) return named[0]
  const recorded = readSummary(row).module?.export
  return named.find((crew) => recorded !== undefined && crew.module?.export === recorded)
}

/** Rejects with CREW_NOT_FOUND, and names the file of the run's crew if it still exists. */
async function refuseWithoutFile(
  place: string | undefined,
  name: string | undefined,
  fits: (row: RunRow) => boolean,
): Promise<never> {
  if ((await missingStore(place)) !== undefined) throw noCrewFile()
  const store = await openCrewStore(place)
  try {
    const row = await findWithoutCrew(store, name, fits)
    const module = row && readSummary(row).module
    throw noCrewFile(module && locateCrew(module) ? module : undefined)
  } finally {
    await store.close()
  }
}

/** Returns undefined if the name is ambiguous, or if no run fits. */
async function findWithoutCrew(
  store: Store,
  name: string | undefined,
  fits: (row: RunRow) => boolean,
): Promise<RunRow | undefined> {
  if (name !== undefined && name !== 'latest') {
    const rows = await runsNamed(store, name)
    return rows.length === 1 ? rows[0] : undefined
  }
  for await (const row of allRows(store, { roots: true })) if (isListed(row) && fits(row)) return row
  return undefined
}
