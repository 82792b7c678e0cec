// A worker of the claims crew in a process of its own, for a studio that has no code.
import { startWorker } from 'reprise/workers'
import { claimsCrew } from '../sample-crews.ts'

const [store = ''] = process.argv.slice(2)
const crew = claimsCrew({ store })
const worker = await startWorker([crew], { concurrency: 4 })
process.send?.('ready')
await worker.done
