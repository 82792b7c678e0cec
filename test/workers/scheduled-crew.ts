// A crew with a schedule, and a worker process that serves it until nothing is ready. The store's clock stands still. With
// `dies`, the process is killed as soon as it has queued a run.
import { appendFileSync } from 'node:fs'
import { Crew, Task, type CrewOptions } from 'reprise'
import type { Store } from 'reprise/stores'
import { startWorker } from 'reprise/workers'
import { openWithClock } from '../stores/open-with-clock.ts'

export const nightly = { name: 'nightly', cron: '0 2 * * *', timezone: 'Europe/Berlin', inputs: { area: 'roofs' } }

export function reports(store: Store, options: Partial<CrewOptions> = {}, ledger?: string): Crew {
  const task = new Task({
    name: 'report',
    effect: 'idempotent',
    run({ inputs, runId }) {
      if (ledger !== undefined) appendFileSync(ledger, `${runId}\n`)
      return `on ${inputs['area'] as string}`
    },
  })
  return new Crew({ name: 'reports', store, tasks: [task], ...options })
}

if (import.meta.main) {
  const [url = '', ledger = '', time = '', dies] = process.argv.slice(2)
  const store = await openWithClock(url, () => Date.parse(time))
  const worker = await startWorker([reports(store, {}, ledger)], {
    once: true,
    onEvent({ type }) {
      if (type === 'scheduled' && dies) process.kill(process.pid, 'SIGKILL')
    },
  })
  await worker.done
  await store.close()
}
