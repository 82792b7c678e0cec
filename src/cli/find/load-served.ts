// The crews of several modules: all that they export, each once.
import type { Crew } from '../../crew/crew.ts'
import { UsageError } from '../exit-codes.ts'
import { crewFile, loadCrews } from './load-crew.ts'

/** CREW_NOT_FOUND for a module that exports none, or where none is named and there is no usual one. */
export async function loadServed(paths: readonly string[]): Promise<Crew[]> {
  const found = new Set<Crew>()
  for (const path of paths.length > 0 ? paths : [crewFile(undefined)]) {
    const crews = await loadCrews(path)
    if (crews.length === 0)
      throw new UsageError(`${path} exports no crew; add: export const crew = new Crew({ … })`, {
        code: 'CREW_NOT_FOUND',
      })
    for (const crew of crews) found.add(crew)
  }
  return [...found]
}
