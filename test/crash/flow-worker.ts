// A worker process for the flow of the crash tests. Prints a line for each call of the flow's code.
import { startWorker } from 'reprise/workers'
import { bigFlow } from './big-flow.ts'

const [store = '', , concurrency = ''] = process.argv.slice(2)
const crew = bigFlow(() => process.stdout.write('step\nwithin\n')).with({ store })
const worker = await startWorker([crew], { concurrency: Number(concurrency) })
process.once('SIGTERM', () => void worker.stop())
await worker.done
await crew.close()
