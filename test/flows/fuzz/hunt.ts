// Plays random histories until one fails.
import fc, { type RunDetails } from 'fast-check'
import type { Store } from '../../../src/stores/store.ts'
import { histories, play, type History } from './history.ts'

interface Hunt {
  open(now: () => number): Store | Promise<Store>
  readonly seed: number
  readonly numRuns: number
  /** The history of the seed to play, as printed by a failure. */
  readonly path?: string | undefined
  /** Report the first failure without shrinking it. */
  readonly isQuick?: boolean
}

export function hunt({ open, path, isQuick = false, ...how }: Hunt): Promise<RunDetails<[History]>> {
  const property = fc.asyncProperty(histories, async (history) => {
    const { problems } = await play(history, open)
    if (problems.length > 0) throw new Error(problems.join('\n'))
  })
  return fc.check(property, { ...how, endOnFailure: isQuick, ...(path === undefined ? {} : { path }) })
}
