// A worker process that ends when no run is ready.
import { appendFileSync } from 'node:fs'
import { startWorker } from 'reprise/workers'
import { limitedCrew } from './limited-crew.ts'

const [store = '', ledger = '', name = ''] = process.argv.slice(2)
const crew = limitedCrew(store, ledger)
appendFileSync(ledger, `started ${name}\n`)
const worker = await startWorker([crew], { once: true })
await worker.done
await crew.close()
