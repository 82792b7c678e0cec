// The stored bytes of 10,000 steps of 1 KB, in runs of 10, 100 and 1,000 steps: the lines alone, and the whole database
// file with rows, indexes and blobs, after a checkpoint.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sqliteStore } from '../src/stores/sqlite/store.ts'
import type { Figure } from './report.ts'
import { engineOn, openStepper, payloadBytes, takeSteps } from './steps.ts'

const total = 10_000

export async function benchSize(folder: string): Promise<Figure[]> {
  const empty = join(folder, 'empty.db')
  await (await sqliteStore(empty)).close()
  const figures: Figure[] = []
  for (const steps of [10, 100, 1_000]) figures.push(...(await measure(join(folder, `${steps}.db`), steps)))
  const kilobytes = ((await stat(empty)).size / 1024).toFixed(0)
  return figures.map((figure) => ({ ...figure, note: `${figure.note}; an empty database has ${kilobytes} KB` }))
}

async function measure(path: string, steps: number): Promise<Figure[]> {
  const store = await sqliteStore(path)
  const engine = engineOn(store)
  const steppers = await Promise.all(Array.from({ length: total / steps }, () => openStepper(engine)))
  await Promise.all(
    steppers.map(async (stepper) => {
      await takeSteps(stepper, steps)
      await stepper.finish()
    }),
  )
  let lines = 0
  for (const { run } of steppers) for await (const line of store.read(run)) lines += line.bytes.length
  // the last connection to close moves everything from the log into the file
  await store.close()
  const file = (await stat(path)).size
  const payload = total * payloadBytes
  const runs = `${steps.toLocaleString('en')} steps a run`
  const note = `${steppers.length} runs`
  return [
    { name: `database file / payload, ${runs}`, value: file / payload, note },
    { name: `journal lines / payload, ${runs}`, value: lines / payload, note },
  ]
}
