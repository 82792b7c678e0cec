// A worker process that prints a line for each step. With a port, Restate calls it there; the workers of a fleet share
// the port.
import { restateDispatcher } from 'reprise/restate'
import { startWorker } from 'reprise/workers'
import { killedCrew } from './killed-crew.ts'

const [store = '', ledger = '', concurrency = '', port = ''] = process.argv.slice(2)
const crew = killedCrew(store, ledger, (what) => process.stdout.write(`${what}\n`))
const worker = await startWorker([crew], {
  concurrency: Number(concurrency),
  ...(port !== '' && { dispatcher: restateDispatcher({ port: Number(port), sliceSeconds: 5 }) }),
})
process.once('SIGTERM', () => void worker.stop())
await worker.done
await crew.close()
