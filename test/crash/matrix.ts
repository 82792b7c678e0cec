// Chooses which kills are real. At every append a life inside the test process ends. At a third of the points a real
// process is killed as well, in which a few runs have stopped at such points. A hash of the title and the point chooses
// them, so that a commit is red or green everywhere. `npm run test:full` kills a process for every append, and at more
// random moments. Neither kind replaces the other: a killed process leaves locks, leases and half a file; an ended life
// may still leak an effect that did not wait for the disk. The engine is tested at each append over SQLite; over
// servers, which are slower, a third of the points suffices to test the store.
import { shareOf } from '../support/share.ts'
import { isFull } from '../support/full.ts'
import { isServer, type StoreKind } from '../support/store-place.ts'

/**
 * The points at which real processes are killed, grouped by process. In the full matrix each point has a process of its
 * own, except over servers.
 */
export function killsByProcess<T>(title: string, kind: StoreKind, points: readonly T[]): T[][] {
  const real = isFull ? points : thirdOf(`${title}, killed`, points)
  const runsPerProcess = isFull && !isServer(kind) ? 1 : 6
  return Array.from({ length: Math.ceil(real.length / runsPerProcess) }, (_, index) =>
    real.slice(index * runsPerProcess, (index + 1) * runsPerProcess),
  )
}

/** The points at which lives over this kind of store end. */
export function pointsOver<T>(title: string, kind: StoreKind, points: readonly T[]): readonly T[] {
  return isServer(kind) ? thirdOf(title, points) : points
}

function thirdOf<T>(title: string, points: readonly T[]): T[] {
  return points.filter((point) => shareOf(`${title} ${JSON.stringify(point)}`, 3) === 0)
}
