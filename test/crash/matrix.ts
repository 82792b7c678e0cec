// Which kills are real. At every append a life in the process of the tests is over; at a third of them a process is killed as well, in
// which a few runs have stopped at such a point. A hash of the title and the point chooses them, so a commit is red or green everywhere.
// `npm run test:full` kills one for every append, and at more random moments. Neither stands for the other: a process leaves locks, leases
// and half a file; a life that is over may still let slip what did not wait for the disk. What the engine does at each append is shown over
// sqlite; over a server, where that takes longer, a third of the points is enough to show that the store keeps its promises.
import { shareOf } from '../support/share.ts'
import { isFull } from '../support/full.ts'
import { isServer, type StoreKind } from '../support/store-place.ts'

/**
 * The points at which processes are killed in the tests of this title, those of one process together. In the full matrix, but for servers,
 * a process is killed in the very moment of one point.
 */
export function killsByProcess<T>(title: string, kind: StoreKind, points: readonly T[]): T[][] {
  const real = isFull ? points : thirdOf(`${title}, killed`, points)
  const runsPerProcess = isFull && !isServer(kind) ? 1 : 6
  return Array.from({ length: Math.ceil(real.length / runsPerProcess) }, (_, index) =>
    real.slice(index * runsPerProcess, (index + 1) * runsPerProcess),
  )
}

/** The points at which a life over such a store ends. */
export function pointsOver<T>(title: string, kind: StoreKind, points: readonly T[]): readonly T[] {
  return isServer(kind) ? thirdOf(title, points) : points
}

function thirdOf<T>(title: string, points: readonly T[]): T[] {
  return points.filter((point) => shareOf(`${title} ${JSON.stringify(point)}`, 3) === 0)
}
