// Resuming a run of 10,000 steps (reading its lines, checking their chain, decoding and folding them), compared with
// reading and parsing the same lines from a bare table.
import { join } from 'node:path'
import { readRun } from '../src/read/read-run.ts'
import { sqliteStore } from '../src/stores/sqlite/store.ts'
import { rawTable } from './raw.ts'
import type { Figure } from './report.ts'
import { compare } from './rounds.ts'
import { engineOn, openStepper, takeSteps } from './steps.ts'

const steps = 10_000

export async function benchResume(folder: string): Promise<Figure[]> {
  const store = await sqliteStore(join(folder, 'resume.db'))
  const stepper = await openStepper(engineOn(store))
  await takeSteps(stepper, steps)
  await stepper.finish()
  const { run } = stepper
  const lines: Uint8Array[] = []
  for await (const line of store.read(run)) lines.push(line.bytes)
  const expected = lines.length
  const raw = rawTable(join(folder, 'raw.db'))
  raw.insertGroup(lines.splice(0))
  const compared = await compare({
    rounds: 25,
    perRound: 1,
    async ours() {
      const { state } = await readRun(store, run)
      if (state.seq !== expected) throw new Error(`${state.seq} entries were read, not ${expected}`)
    },
    raw() {
      const rows = raw.readAndParse()
      if (rows !== expected) throw new Error(`${rows} rows were read, not ${expected}`)
    },
  })
  raw.close()
  await store.close()
  return [
    {
      name: `resuming ${steps.toLocaleString('en')} steps / reading and parsing their rows`,
      value: compared.ratio,
      target: { most: 2.2 },
      note: `${compared.ours.toFixed(0)} against ${compared.raw.toFixed(0)} ms`,
    },
  ]
}
