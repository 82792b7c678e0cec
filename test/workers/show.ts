// npm run storm:workers -- --store postgres --server killed: many runs in workers that are killed, over a server that
// is killed or whose disk is full, compared with undisturbed runs. Prints the result; exits with 1 if a promise was
// broken.
import { parseArgs } from 'node:util'
import { isStoreKind, storeKinds } from '../support/store-place.ts'
import { disturbedWorkers } from './disturbed-workers.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'postgres' },
    runs: { type: 'string', default: '200' },
    workers: { type: 'string', default: '8' },
    concurrency: { type: 'string', default: '4' },
    /** How many of the runs end their process each time they are claimed. */
    crashing: { type: 'string', default: '0' },
    server: { type: 'string' },
    /** How many nodes of Restate call the workers. Each is killed in turn. */
    restate: { type: 'string' },
    /** Kill no worker. */
    calm: { type: 'boolean', default: false },
  },
})
const { store, server } = values
if (!isStoreKind(store)) throw new Error(`--store is ${store}; give ${storeKinds.join(', ')}`)
if (server !== undefined && server !== 'killed' && server !== 'disk full')
  throw new Error(`--server is ${server}; give killed or "disk full"`)
if (server !== undefined && store !== 'postgres' && store !== 'redis')
  throw new Error(`--server is for --store postgres and redis, not ${store}`)

const shown = await disturbedWorkers({
  store,
  server,
  restateNodes: values.restate === undefined ? undefined : Number(values.restate),
  runs: Number(values.runs),
  crashing: Number(values.crashing),
  processes: Number(values.workers),
  concurrency: Number(values.concurrency),
  between: values.calm ? undefined : { least: 30, most: 90 },
})
const engine = values.restate === undefined ? '' : `, ${values.restate} nodes of Restate`
console.log(
  `${store}: ${values.runs} runs in ${values.workers} workers${engine}, the server ${server ?? 'undisturbed'}`,
)
for (const [name, count] of Object.entries(shown)) console.log(`  ${name}: ${Math.round(count as number)}`)
const { completed, givenUp, failed, lost, different, steps, repeated, missing } = shown
const innocent = Number(values.runs) - Number(values.crashing)
if (
  completed !== innocent ||
  givenUp !== Number(values.crashing) ||
  failed + lost + different + steps + repeated + missing > 0
)
  process.exitCode = 1
