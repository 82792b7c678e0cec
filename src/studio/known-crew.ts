// The crew that something needs the code of.
import { StudioProblem } from './api/problem.ts'
import { rowOf, type KnownCrew, type Place } from './place.ts'

/** NO_CODE. */
export function knownCrew({ crews }: Place, name: string): KnownCrew {
  const known = crews.get(name)
  if (known) return known
  const words = `the code of crew ${name} is not at hand; start the studio with the module that exports it`
  throw new StudioProblem('NO_CODE', words)
}

/** RUN_NOT_FOUND, NO_CODE. */
export async function crewOfRun(place: Place, runId: string): Promise<KnownCrew> {
  return knownCrew(place, (await rowOf(place, runId)).crew)
}
