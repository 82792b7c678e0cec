// A hundred runs at once, each appending one step after another, against bare inserts of the same bytes, a hundred to a transaction.
import { join } from 'node:path'
import { sqliteStore } from '../src/stores/sqlite/sqlite-store.ts'
import { rawTable } from './raw.ts'
import type { Figure } from './report.ts'
import { compare } from './rounds.ts'
import { engineOn, openStepper, stepLine } from './steps.ts'

const runs = 100
/** Long enough that a turn has its share of checkpoints: a rate counts them too. */
const stepsATurn = 20

export async function benchConcurrent(folder: string): Promise<Figure[]> {
  const store = await sqliteStore(join(folder, 'concurrent.db'))
  const engine = engineOn(store)
  const steppers = await Promise.all(Array.from({ length: runs }, () => openStepper(engine)))
  const raw = rawTable(join(folder, 'raw.db'))
  const group = Array.from({ length: runs }, stepLine)
  const compared = await compare({
    rounds: 30,
    perRound: 1,
    ours: () =>
      Promise.all(
        steppers.map(async ({ step }) => {
          for (let taken = 0; taken < stepsATurn; taken++) await step()
        }),
      ),
    raw() {
      for (let taken = 0; taken < stepsATurn; taken++) raw.insertGroup(group)
    },
  })
  raw.close()
  await Promise.all(steppers.map((stepper) => stepper.finish()))
  await store.close()
  return [
    {
      name: `${runs} runs appending at once / raw rate, ${runs} inserts to a transaction`,
      value: 1 / compared.ratio,
      target: { least: 0.5 },
      note: `${rate(compared.ours)} against ${rate(compared.raw)} steps a second`,
    },
  ]
}

function rate(milliseconds: number): string {
  return Math.round((runs * stepsATurn * 1000) / milliseconds).toLocaleString('en')
}
