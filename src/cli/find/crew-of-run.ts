// Finds the crew of a command about a run. If a file exports several crews, it is the crew of the run.
import type { Crew } from '../../crew/crew.ts'
import { openCrewStore } from '../../crew/default-store.ts'
import { allRows } from '../../engine/history/all-rows.ts'
import { readSummary } from '../../engine/read/row-summary.ts'
import { runsNamed } from '../../runs/find.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import type { CrewOptions, GlobalOptions } from '../command.ts'
import { findRun, otherCrewError } from './find-run.ts'
import { locateCrew } from '../write-command.ts'
import { crewFile, loadCrew, loadCrews, noCrewFile } from './load-crew.ts'
import { missingStore } from './open-runs.ts'
import { usualFile } from './usual-file.ts'

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
