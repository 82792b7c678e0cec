// npm run bench: prints every figure next to its target. A missed target does not change the exit code; an error in a
// bench does.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { benchCapacity } from './capacity.ts'
import { benchClaim } from './claim.ts'
import { benchCli } from './cli.ts'
import { benchConcurrent } from './concurrent.ts'
import { benchDispatchLatency } from './dispatch/dispatch-latency.ts'
import { benchDispatchTakeover } from './dispatch/dispatch-takeover.ts'
import { benchDispatchThroughput } from './dispatch/dispatch-throughput.ts'
import { benchFlows } from './flows.ts'
import { benchGrowth } from './growth.ts'
import { benchHistory } from './history.ts'
import { benchImport } from './import.ts'
import { benchLive, benchMany } from './many.ts'
import { benchPostgresClaim } from './postgres/postgres-claim.ts'
import { benchPostgresConcurrent } from './postgres/postgres-concurrent.ts'
import { benchPostgresStep } from './postgres/postgres-step.ts'
import { benchPostgresWholeRun } from './postgres/postgres-whole-run.ts'
import { benchPostgresWorkers } from './postgres/postgres-workers.ts'
import { benchRedisConcurrent } from './redis/redis-concurrent.ts'
import { benchRedisStep } from './redis/redis-step.ts'
import { machine, table, type Figure } from './report.ts'
import { benchResume } from './resume.ts'
import { benchSize } from './size.ts'
import { benchStep } from './step.ts'
import { benchStreaming } from './streaming.ts'
import { benchStudio } from './studio.ts'
import { benchWholeRun } from './whole-run.ts'

const benches: { readonly [name: string]: (folder: string) => Promise<Figure[]> } = {
  // first, while the process is small
  live: benchLive,
  capacity: benchCapacity,
  'whole-run': benchWholeRun,
  growth: benchGrowth,
  claim: benchClaim,
  step: benchStep,
  concurrent: benchConcurrent,
  size: benchSize,
  resume: benchResume,
  flows: benchFlows,
  many: benchMany,
  history: benchHistory,
  streaming: benchStreaming,
  import: benchImport,
  cli: benchCli,
  'postgres-step': benchPostgresStep,
  'postgres-concurrent': benchPostgresConcurrent,
  'postgres-whole-run': benchPostgresWholeRun,
  'postgres-workers': benchPostgresWorkers,
  'postgres-claim': benchPostgresClaim,
  'redis-step': benchRedisStep,
  'redis-concurrent': benchRedisConcurrent,
  studio: benchStudio,
  'dispatch-throughput': benchDispatchThroughput,
  'dispatch-latency': benchDispatchLatency,
  'dispatch-takeover': benchDispatchTakeover,
}

const chosen = process.argv.slice(2)
const figures: Figure[] = []
console.log(machine())
for (const [name, bench] of Object.entries(benches)) {
  if (chosen.length > 0 && !chosen.some((word) => name === word || name.startsWith(`${word}-`))) continue
  const folder = await mkdtemp(join(tmpdir(), 'reprise-bench-'))
  try {
    figures.push(...(await bench(folder)))
  } catch (error) {
    console.error(`bench ${name} broke:`, error)
    process.exitCode = 1
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
console.log(`\n${table(figures)}`)
