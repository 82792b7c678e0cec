// A worker process that prints a line for each event. Its task reports that it has begun, and ends when the test writes
// to standard input.
import { once } from 'node:events'
import { Crew, Task } from 'reprise'
import { startWorker, type WorkerEvent } from 'reprise/workers'

/** A crew whose first task awaits `hold`. Apart from that, it is the same in every process. */
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
