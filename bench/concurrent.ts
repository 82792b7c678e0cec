// A hundred runs at once, each appending one step after another, against inserts of the same bytes, a hundred to a
// transaction.
import { join } from 'node:path'
import { sqliteStore } from '../src/stores/sqlite/store.ts'
import { indexedTable } from './raw.ts'
import type { Figure } from './report.ts'
import { compare } from './rounds.ts'
import { engineOn, openStepper, stepLine } from './steps.ts'

const runs = 100
const stepsATurn = 20

export async function benchConcurrent(folder: string): Promise<Figure[]> {
  const store = await sqliteStore(join(folder, 'concurrent.db'))
  const engine = engineOn(store)
  const steppers = await Promise.all(Array.from({ length: runs }, () => openStepper(engine)))
  const group = Array.from({ length: runs }, stepLine)
  const table = indexedTable(join(folder, 'indexed.db'))

  async function measure(name: string): Promise<Figure> {
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
        for (let taken = 0; taken < stepsATurn; taken++) table.insertGroup(group)
      },
    })
    const rate = (milliseconds: number): string =>
      Math.round((runs * stepsATurn * 1000) / milliseconds).toLocaleString('en')
    return {
      name: `${runs} runs appending at once, ${name} / raw rate of a table with an index by run and number`,
      value: 1 / compared.ratio,
      note: `${rate(compared.ours)} against ${rate(compared.raw)} steps a second`,
    }
  }

  // both tables grow in the same way: entries of short runs share index pages, while those of long runs have their own
  const figures = [await measure('their first 600 steps'), await measure('their next 600')]
  table.close()
  await Promise.all(steppers.map((stepper) => stepper.finish()))
  await store.close()
  return figures
}
