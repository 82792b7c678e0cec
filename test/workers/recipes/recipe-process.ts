// A worker process that takes its runs from the queue of a recipe and prints what it has done.
import { startWorker } from 'reprise/workers'
import { killedCrew } from '../killed-crew.ts'
import { openRecipe, type RecipePlace } from './recipe-queue.ts'

const [store = '', ledger = '', concurrency = '', place = ''] = process.argv.slice(2)
const queue = await openRecipe(JSON.parse(place) as RecipePlace)
const crew = killedCrew(store, ledger, (what) => process.stdout.write(`${what}\n`))
// short, since a killed process may have had a job whose run it had not yet claimed
const options = { dispatcher: queue.dispatcher, concurrency: Number(concurrency), resendSeconds: 2 }
const worker = await startWorker([crew], options)
process.once('SIGTERM', () => void worker.stop())
await worker.done
await queue[Symbol.asyncDispose]()
await crew.close()
