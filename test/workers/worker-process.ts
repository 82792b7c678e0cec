// A worker process that prints a line for each thing it has done. With a port, it is called by Restate
// there, which every worker of the fleet is: they share the port.
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
