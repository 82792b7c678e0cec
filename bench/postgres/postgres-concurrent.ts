// A hundred runs that append over PostgreSQL, each as soon as its last step is on disk, against the same rows inserted raw: a hundred
// to a statement, and each by itself over a pool.
import { postgresStore } from '../../src/stores/postgres/postgres-store.ts'
import type { Figure } from '../report.ts'
import { ratioOf, median, takeTurns } from '../rounds.ts'
import { engineOn, openStepper, stepLine } from '../steps.ts'
import { durableServer } from './bench-server.ts'
import { rawPostgres } from './raw-postgres.ts'

const runs = 100
const stepsATurn = 20

export async function benchPostgresConcurrent(): Promise<Figure[]> {
  await using server = await durableServer()
  const store = await postgresStore(server.url)
  const engine = engineOn(store)
  const steppers = await Promise.all(Array.from({ length: runs }, () => openStepper(engine)))
  const group = Array.from({ length: runs }, stepLine)
  const raw = await rawPostgres(server.url)
  const taken = await takeTurns(
    20,
    {
      ours: () => timed(() => Promise.all(steppers.map(({ step }) => inTurn(step)))),
      grouped: () => timed(() => inTurn(() => raw.insertGroup(group))),
      pooled: () => timed(() => inTurn(() => raw.insertPooled(group))),
    },
    3,
  )
  await raw.close()
  await Promise.all(steppers.map((stepper) => stepper.finish()))
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
  return [beside(taken.grouped, 'a hundred rows to a statement', 0.5), beside(taken.pooled, 'one by one over a pool')]
}

async function inTurn(step: () => Promise<void>): Promise<void> {
  for (let taken = 0; taken < stepsATurn; taken++) await step()
}

async function timed(work: () => Promise<unknown>): Promise<[number]> {
  const start = performance.now()
  await work()
  return [performance.now() - start]
}

function rate(times: readonly number[]): string {
  return Math.round((runs * stepsATurn * 1000) / median(times)).toLocaleString('en')
}
