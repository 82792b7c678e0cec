// A worker in a process of its own whose task says that it has begun, and ends when the test says so on standard input.
// What the worker does it says, a line for each event.
import { once } from 'node:events'
import { Crew, Task } from 'reprise'
import { startWorker, type WorkerEvent } from 'reprise/workers'

/** In every process the same, but for what it waits for. */
export function holdingCrew(store: string, hold: () => Promise<unknown> = async () => {}) {
  const first = new Task({ name: 'first', effect: 'idempotent', run: async () => (await hold(), 'held') })
  const second = new Task({ name: 'second', effect: 'read', run: ({ outputs }) => `after ${JSON.stringify(outputs)}` })
  return new Crew({ name: 'holding', tasks: [first, second], store })
}

if (import.meta.main) {
  const said = (line: string): void => void process.stdout.write(`${line}\n`)
  await using crew = holdingCrew(process.argv[2] ?? '', async () => {
    said('begun')
    await once(process.stdin, 'data')
  })
  const onEvent = (event: WorkerEvent): void => said('outcome' in event ? `${event.type} ${event.outcome}` : event.type)
  const worker = await startWorker([crew], { onEvent })
  process.once('SIGTERM', () => void worker.stop({ graceSeconds: 0 }))
  await worker.done
  process.stdin.destroy()
}
