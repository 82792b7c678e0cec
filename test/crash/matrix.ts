// Which kills are real in this run of the tests. At every append a life in the process of the tests is over; at a third of them, another one
// from commit to commit, a process is killed as well, in which a few runs have stopped at such a point. `npm run test:full` kills one for
// every append, and at more random moments. Neither stands for the other: a process leaves locks, leases and half a file; a life that is
// over may still let slip what did not wait for the disk. What the engine does at each append is shown over sqlite; over a server, where
// that takes longer, a third of the points is enough to show that the store keeps its promises.
import { isFull } from '../support/full.ts'
import { isServer, type StoreKind } from '../support/store-place.ts'

const thirdOfToday = (Math.floor(Date.now() / 86_400_000) % 3) + 1
/** REPRISE_TEST_KILLS: 1, 2 or 3 for a third, or `all`; test/run.ts sets it. */
const kills = process.env['REPRISE_TEST_KILLS'] ?? String(thirdOfToday)

/** For the titles of tests, so that whoever reads of a failure can repeat it. */
export const realKills = isFull ? 'every kill' : `third ${kills} of the kills`

/**
 * The points at which processes are killed, those of one process together. In the full matrix, but for servers, it is killed in the very
 * moment of one.
 */
export function killsByProcess<T>(kind: StoreKind, points: readonly T[]): T[][] {
  const real = isFull ? points : thirdOf(points)
  const runsPerProcess = isFull && !isServer(kind) ? 1 : 6
  return Array.from({ length: Math.ceil(real.length / runsPerProcess) }, (_, index) =>
    real.slice(index * runsPerProcess, (index + 1) * runsPerProcess),
  )
}

/** The points at which a life over such a store ends. */
export function pointsOver<T>(kind: StoreKind, points: readonly T[]): readonly T[] {
  return isServer(kind) ? thirdOf(points) : points
}

function thirdOf<T>(points: readonly T[]): T[] {
  const third = isFull ? thirdOfToday : Number(kills)
  return points.filter((_, index) => index % 3 === third - 1)
}
