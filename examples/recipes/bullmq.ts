// BullMQ decides who advances a run. One queue for each version of a crew, so that a run reaches code that knows it.
import { once } from 'node:events'
import { Queue, Worker, type ConnectionOptions, type Job } from 'bullmq'
import { nextWakeAt, queueName, type Dispatcher, type Wake } from 'reprise/workers'

/** `connection` is a Redis client, which the caller closes. */
export function bullmqDispatcher(connection: ConnectionOptions, prefix = 'bull'): Dispatcher {
  const queues = new Map<string, Queue<Wake>>()

  function queueOf(name: string): Queue<Wake> {
    const queue = queues.get(name) ?? new Queue<Wake>(name, { connection, prefix })
    queues.set(name, queue)
    return queue
  }

  // the data leave out the key: `advance` adds the next job while this one still exists, so it needs another id
  async function wake({ key, ...run }: Wake, at = 0): Promise<void> {
    await queueOf(queueName(run)).add('advance', run, {
      // no second job is added while one with this id is waiting or active; ids must not contain a colon
      ...(key !== undefined && { jobId: encodeURIComponent(key) }),
      delay: Math.max(0, at - Date.now()),
      removeOnComplete: true,
      removeOnFail: true,
    })
  }

  return {
    name: 'bullmq',
    wake,
    async serve(work) {
      const advance = async ({ data, id }: Job<Wake>): Promise<void> => {
        const next = nextWakeAt(await work.advance(data.runId, { via: String(id) }))
        if (next !== undefined) await wake(data, next)
      }
      const names = [...new Set(work.lanes.map(queueName))]
      const options = { connection, prefix, concurrency: work.concurrency }
      const workers = names.map((name) => new Worker(name, advance, options))
      for (const worker of workers) worker.on('error', (error) => work.tell(error.message))
      if (!work.signal.aborted) await once(work.signal, 'abort')
      await Promise.all(workers.map((worker) => worker.close()))
    },
  }
}
