// Which kills are real in this run of the tests. At every append a life in the process of the tests is over; at a third of them, another one
// from commit to commit, a process is killed as well. `npm run test:full` kills one at every append, and at more random moments. Neither
// stands for the other: a process leaves locks, leases and half a file; a life that is over may still let slip what did not wait for the disk.
import { isFull } from '../support/full.ts'

/** REPRISE_TEST_KILLS: 1, 2 or 3 for a third, or `all`; test/run.ts sets it. */
const kills = process.env['REPRISE_TEST_KILLS'] ?? String((Math.floor(Date.now() / 86_400_000) % 3) + 1)

/** For the titles of tests, so that whoever reads of a failure can repeat it. */
export const realKills = isFull ? 'every kill' : `third ${kills} of the kills`

/** Whether a process is killed at the point with this number. */
export function isReal(point: number): boolean {
  return isFull || point % 3 === Number(kills) - 1
}
