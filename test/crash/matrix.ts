// Which kills are real in this run of the tests. At a third of the appends, another one from commit to commit, a process is killed; at the
// others a life in the process of the tests is over. `npm run test:full` kills a process at every append, and at more random moments.

import { isFull } from '../support/full.ts'

/** REPRISE_TEST_KILLS: 1, 2 or 3 for a third, or `all`; test/run.ts sets it. */
const kills = process.env['REPRISE_TEST_KILLS'] ?? String((Math.floor(Date.now() / 86_400_000) % 3) + 1)

/** For the titles of tests, so that whoever reads of a failure can repeat it. */
export const realKills = isFull ? 'every kill' : `third ${kills} of the kills`

/** Whether a process is killed at the point with this number. */
export function isReal(point: number): boolean {
  return isFull || point % 3 === Number(kills) - 1
}
