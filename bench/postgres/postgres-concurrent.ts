// A hundred runs that append over PostgreSQL, each as soon as its last step is on disk, compared with raw inserts of
// the same rows: a hundred per statement, and one by one over a pool.
import { postgresStore } from '../../src/stores/postgres/store.ts'
import { openHundredRuns, rate, rawTurn, runs } from '../hundred-runs.ts'
import type { Figure } from '../report.ts'
import { ratioOf, takeTurns } from '../rounds.ts'
import { stepLine } from '../steps.ts'
import { durableServer } from './bench-server.ts'
import { rawPostgres } from './raw-postgres.ts'

export async function benchPostgresConcurrent(): Promise<Figure[]> {
  await using server = await durableServer()
  const store = await postgresStore(server.url)
  const hundred = await openHundredRuns(store)
  const group = Array.from({ length: runs }, stepLine)
  const raw = await rawPostgres(server.url)
  const taken = await takeTurns(
    20,
    {
      ours: hundred.turn,
      grouped: () => rawTurn(() => raw.insertGroup(group)),
      pooled: () => rawTurn(() => raw.insertPooled(group)),
    },
    3,
  )
  await raw.close()
  await hundred.finish()
  await store.close()

  const beside = (times: readonly number[], how: string, least?: number): Figure => {
    const { ratio, spread } = ratioOf(times, taken.ours)
    return {
      name: `PostgreSQL: ${runs} runs appending at once / raw rate, ${how}`,
      value: ratio,
      ...(least && { target: { least } }),
      note: `${rate(taken.ours)} against ${rate(times)} steps a second; ${spread}`,
    }
  }
  return [beside(taken.grouped, 'a hundred rows to a statement'), beside(taken.pooled, 'one by one over a pool', 2)]
}
