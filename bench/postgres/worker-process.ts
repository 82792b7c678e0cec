// A worker in a process of its own: its argument is the URL of the store. It reports when it is warm, starts on
// command, reports each completed run, and stops when its parent disconnects.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { startWorker } from 'reprise/workers'
import { toolCrew } from '../crew.ts'

/** Number of turns of a run. */
export const turns = 10

export interface WorkerProcess {
  work(completed: () => void): void
  stop(): Promise<void>
}

export async function forkWorker(url: string): Promise<WorkerProcess> {
  const child = fork(import.meta.filename, [url])
  const gone = once(child, 'exit')
  await once(child, 'message')
  return {
    work(completed) {
      child.on('message', completed)
      child.send('work')
    },
    async stop() {
      child.disconnect()
      await gone
    },
  }
}

if (process.send) {
  const crew = toolCrew(process.argv[2] ?? '', turns)
  // opens the store, and compiles the code that a run needs
  for (let run = 0; run < 20; run++) await crew.kickoff()
  process.send('warm')
  await once(process, 'message')
  const worker = await startWorker([crew], {
    concurrency: 20,
    onEvent(heard) {
      if (heard.type === 'left' && heard.outcome === 'completed') process.send?.('completed')
      else if (heard.type === 'refused' || heard.type === 'left') console.error(heard)
    },
  })
  await once(process, 'disconnect')
  await worker.stop()
  await crew.close()
}
