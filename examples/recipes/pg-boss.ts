// pg-boss decides who advances a run. One queue for each version of a crew, so that a run reaches code that knows it.
import { once } from 'node:events'
import type { Job, PgBoss } from 'pg-boss'
import { nextWakeAt, queueName, type Dispatcher, type Wake } from 'reprise/workers'

/** `boss` is started and has an `error` listener. With its option `useListenNotify`, a job starts at once. */
export function pgBossDispatcher(boss: PgBoss): Dispatcher {
  const queues = new Set<string>()

  async function queueOf(name: string): Promise<string> {
    // no retries: runs that stay ready are woken again. `short`: a key is unique until its job starts
    const options = { policy: 'short', notify: true, retryLimit: 0, expireInSeconds: 86_400, deleteAfterSeconds: 600 }
    if (!queues.has(name)) await boss.createQueue(name, options)
    queues.add(name)
    return name
  }

  async function wake(run: Wake, at = 0): Promise<void> {
    const isLater = at > Date.now()
    // all wakes for now share one job; a later wake has its own key, or the two would be one job
    const singletonKey = isLater ? `${run.runId}@${at}` : run.runId
    await boss.send(await queueOf(queueName(run)), run, { singletonKey, ...(isLater && { startAfter: new Date(at) }) })
  }

  return {
    name: 'pg-boss',
    wake,
    async serve(work) {
      const advance = async ({ id, data }: Job<Wake>): Promise<void> => {
        const next = nextWakeAt(await work.advance(data.runId, { via: id }))
        if (next !== undefined) await wake(data, next)
      }
      const consume = async (name: string): Promise<void> => {
        const consumer: string = await boss.work<Wake>(await queueOf(name), async ([job]) => {
          // fetches the next job at once: pg-boss would wait
          if (job) await advance(job).finally(() => boss.notifyWorker(consumer))
        })
      }
      const names = [...new Set(work.lanes.map(queueName))]
      for (const name of names) for (let count = 0; count < work.concurrency; count++) await consume(name)
      if (!work.signal.aborted) await once(work.signal, 'abort')
      await Promise.all(names.map((name) => boss.offWork(name)))
    },
  }
}
