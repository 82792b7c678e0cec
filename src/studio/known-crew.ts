// The crew that something needs the code of.
import { StudioProblem } from './api/problem.ts'
import { rowOf, type KnownCrew, type Place, type ShownCrew } from './place.ts'

/** NO_CODE. */
export function knownCrew({ crews }: Place, name: string): KnownCrew {
  return crews.get(name) ?? missing(name)
}

function missing(name: string): never {
  const words = `the code of crew ${name} is not at hand; start the studio with the module that exports it`
  throw new StudioProblem('NO_CODE', words)
}

/** NO_CODE. For looking at it: also a crew that is a task of another. */
export function shownCrew({ shown }: Place, name: string): ShownCrew {
  return shown.get(name) ?? missing(name)
}

/** RUN_NOT_FOUND, NO_CODE. */
export async function crewOfRun(place: Place, runId: string): Promise<KnownCrew> {
  return knownCrew(place, (await rowOf(place, runId)).crew)
}
