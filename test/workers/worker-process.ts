// A worker in a process of its own, which says what it has just done: a line on its standard output.
import { startWorker } from 'reprise/workers'
import { killedCrew } from './killed-crew.ts'

const [store = '', ledger = '', concurrency = ''] = process.argv.slice(2)
const crew = killedCrew(store, ledger, (what) => process.stdout.write(`${what}\n`))
const worker = await startWorker([crew], { concurrency: Number(concurrency) })
process.once('SIGTERM', () => void worker.stop())
await worker.done
await crew.close()
