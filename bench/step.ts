// One durable step: encoded, hashed, folded, appended and synced, compared with a bare synced insert of the same bytes.
import { join } from 'node:path'
import { sqliteStore } from '../src/stores/sqlite/store.ts'
import { rawTable } from './raw.ts'
import type { Figure } from './report.ts'
import { compare } from './rounds.ts'
import { engineOn, openStepper, stepLine, takeSteps } from './steps.ts'

export async function benchStep(folder: string): Promise<Figure[]> {
  const store = await sqliteStore(join(folder, 'step.db'))
  const stepper = await openStepper(engineOn(store))
  const raw = rawTable(join(folder, 'raw.db'))
  const line = stepLine()
  // warms up, as in a long-running process
  await takeSteps(stepper, 5_000)
  const compared = await compare({
    rounds: 60,
    perRound: 50,
    ours: () => stepper.step(),
    raw: () => raw.insert(line),
  })
  raw.close()
  await stepper.finish()
  await store.close()
  return [
    {
      name: 'a durable step of 1 KB / a raw synced insert',
      value: compared.ratio,
      note: `${micro(compared.ours)} against ${micro(compared.raw)} µs`,
    },
  ]
}

const micro = (milliseconds: number): string => (milliseconds * 1000).toFixed(0)
