// npm run storm -- --seeds 300 --store sqlite: random crews and histories under SIGKILL, compared with undisturbed
// ones. `--seed 17` executes one seed and prints every step.
import { mkdtemp, rm } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { join } from 'node:path'
import { quickFolder } from '../support/quick-folder.ts'
import { isStoreKind, storeKinds } from '../support/store-place.ts'
import { stormSeed, type Totals } from './seed.ts'
import { openWorkers } from './workers.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    store: { type: 'string', default: 'sqlite' },
    at: { type: 'string', default: '2' },
    all: { type: 'boolean', default: false },
  },
})
const { store } = values
if (!isStoreKind(store)) throw new Error(`--store is ${store}; give ${storeKinds.join(', ')}`)
const one = values.seed === undefined ? undefined : Number(values.seed)
const first = one ?? Number(values.from)
const last = one ?? first + Number(values.seeds) - 1

const started = performance.now()
const folder = await mkdtemp(join(quickFolder(), 'reprise-storm-'))
const totals: Totals = {
  seeds: 0,
  steps: 0,
  runs: 0,
  kills: 0,
  replays: 0,
  backtests: 0,
  exports: 0,
  imports: 0,
  effects: 0,
  requests: 0,
}
let failed = 0
/** How often each kind of defect occurred. */
const kinds = new Map<string, number>()
{
  await using workers = await openWorkers(one === undefined ? Number(values.at) + 1 : 1)
  const tell = one === undefined ? undefined : (line: string) => console.log(line)
  const seeds = Array.from({ length: last - first + 1 }, (_, index) => first + index)[Symbol.iterator]()
  const work = async (): Promise<void> => {
    for (const seed of seeds) {
      const result = await stormSeed({ workers, folder, store, tell }, seed).catch((error: unknown) => ({
        failures: [
          {
            step: 'the storm itself',
            problem: `thrown: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
          },
        ],
        totals: undefined,
      }))
      for (const key of Object.keys(totals) as (keyof Totals)[]) totals[key] += result.totals?.[key] ?? 0
      if (result.failures.length === 0) continue
      failed += 1
      for (const kind of new Set(result.failures.map(({ problem }) => problem.split(':')[0] ?? '')))
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      const [{ step, problem } = { step: '', problem: '' }, ...more] = result.failures
      console.log(`seed ${seed}, ${step}: ${problem}${more.length > 0 ? ` (and ${more.length} more)` : ''}`)
      if (values.all || one !== undefined)
        for (const { step: at, problem: what } of more) console.log(`  ${at}: ${what}`)
    }
  }
  await Promise.all(Array.from({ length: one === undefined ? Number(values.at) : 1 }, work))
}
const seconds = Math.round((performance.now() - started) / 1000)
const counts = Object.entries(totals).map(([name, count]) => `${count} ${name}`)
console.log(`${store}: ${counts.join(', ')}, ${failed} failed seeds, ${seconds} s`)
if (failed > 0) console.log(`seeds by kind: ${[...kinds].map(([kind, count]) => `${kind} ${count}`).join(', ')}`)
if (failed > 0) console.log(`what the failed seeds left is in ${folder}`)
else await rm(folder, { recursive: true, force: true })
process.exitCode = failed > 0 ? 1 : 0
