// One durable step over PostgreSQL: encoded, hashed, folded, fenced and appended, compared with a bare insert of the
// same bytes through the same client.
import { postgresStore } from '../../src/stores/postgres/store.ts'
import type { Figure } from '../report.ts'
import { compare } from '../rounds.ts'
import { engineOn, openStepper, stepLine, takeSteps } from '../steps.ts'
import { durableServer } from './bench-server.ts'
import { rawPostgres } from './raw-postgres.ts'

export async function benchPostgresStep(): Promise<Figure[]> {
  await using server = await durableServer()
  const store = await postgresStore(server.url)
  const stepper = await openStepper(engineOn(store))
  const raw = await rawPostgres(server.url)
  const line = stepLine()
  // warms up, as in a long-running process
  await takeSteps(stepper, 5_000)
  const compared = await compare({
    rounds: 60,
    perRound: 20,
    ours: () => stepper.step(),
    raw: () => raw.insert(line),
  })
  await raw.close()
  await stepper.finish()
  await store.close()
  return [
    {
      name: 'PostgreSQL: a durable step of 1 KB / a raw insert',
      value: compared.ratio,
      target: { most: 2 },
      note: `${micro(compared.ours)} against ${micro(compared.raw)} µs`,
    },
  ]
}

const micro = (milliseconds: number): string => (milliseconds * 1000).toFixed(0)
