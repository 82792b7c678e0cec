// A hundred runs at once, each appending one step after another, against inserts of the same bytes, a hundred to a transaction.
import { join } from 'node:path'
import { sqliteStore } from '../src/stores/sqlite/sqlite-store.ts'
import { indexedTable, rawTable, type RawTable } from './raw.ts'
import type { Figure } from './report.ts'
import { compare } from './rounds.ts'
import { engineOn, openStepper, stepLine } from './steps.ts'

const runs = 100

interface Against {
  readonly name: string
  readonly table: Pick<RawTable, 'insertGroup' | 'close'>
  readonly stepsATurn: number
  readonly rounds: number
  readonly target?: { readonly least: number }
}

export async function benchConcurrent(folder: string): Promise<Figure[]> {
  const store = await sqliteStore(join(folder, 'concurrent.db'))
  const engine = engineOn(store)
  const steppers = await Promise.all(Array.from({ length: runs }, () => openStepper(engine)))
  const group = Array.from({ length: runs }, stepLine)

  async function against({ name, table, stepsATurn, rounds, target }: Against): Promise<Figure> {
    const compared = await compare({
      rounds,
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
    table.close()
    const rate = (milliseconds: number): string =>
      Math.round((runs * stepsATurn * 1000) / milliseconds).toLocaleString('en')
    return {
      name: `${runs} runs appending at once / ${name}`,
      value: 1 / compared.ratio,
      ...(target === undefined ? {} : { target }),
      note: `${rate(compared.ours)} against ${rate(compared.raw)} steps a second`,
    }
  }

  const figures = [
    await against({
      name: `raw rate, ${runs} inserts to a transaction`,
      table: rawTable(join(folder, 'raw.db')),
      stepsATurn: 20,
      rounds: 30,
    }),
    // a bare table makes a checkpoint in less than half of the turns above, so that their median is one without
    await against({
      name: 'the same, in turns so long that each has its checkpoints',
      table: rawTable(join(folder, 'long.db')),
      stepsATurn: 100,
      rounds: 10,
    }),
    await against({
      name: 'raw rate of a table with an index by run and number',
      table: indexedTable(join(folder, 'indexed.db')),
      stepsATurn: 20,
      rounds: 30,
      // the least that a program could use: its rows are found by run
      target: { least: 0.5 },
    }),
  ]
  await Promise.all(steppers.map((stepper) => stepper.finish()))
  await store.close()
  return figures
}
