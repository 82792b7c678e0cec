// The crew that something needs the code of.
import { StudioProblem } from './api/problem.ts'
import { readRow, type LoadedCrew, type StudioContext, type ShownCrew } from './context.ts'

/** NO_CODE. */
export function findCrew({ crews }: StudioContext, name: string): LoadedCrew {
  return crews.get(name) ?? refuseMissingCrew(name)
}

function refuseMissingCrew(name: string): never {
  const words = `the code of crew ${name} is not at hand; start the studio with the module that exports it`
  throw new StudioProblem('NO_CODE', words)
}

/** NO_CODE. For looking at it: also a crew that is a task of another. */
export function findShownCrew({ shown }: StudioContext, name: string): ShownCrew {
  return shown.get(name) ?? refuseMissingCrew(name)
}

/** RUN_NOT_FOUND, NO_CODE. */
export async function crewOfRun(place: StudioContext, runId: string): Promise<LoadedCrew> {
  return findCrew(place, (await readRow(place, runId)).crew)
}
