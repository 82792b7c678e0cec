// Graphile Worker decides who advances a run. One task for each version of a crew, so that a run reaches code that
// knows it.
import { once } from 'node:events'
import { run as startRunner, runMigrations, type RunnerOptions, type Task } from 'graphile-worker'
import type { Pool } from 'pg'
import { nextWakeAt, queueName, type Dispatcher, type Wake } from 'reprise/workers'

/** The caller closes the pool. */
export function graphileDispatcher(options: RunnerOptions & { readonly pgPool: Pool }): Dispatcher {
  const { pgPool, schema = 'graphile_worker' } = options
  const addJob = `select from ${schema}.add_job($1, payload := $2, run_at := $3, job_key := $4, max_attempts := 1)`
  let hasTables = false

  async function wake(run: Wake, at = 0): Promise<void> {
    const isLater = at > Date.now()
    // all wakes for now share one job; a later wake has its own key, or the two would be one job
    const key = isLater ? `${run.runId}@${at}` : run.runId
    if (!hasTables) await runMigrations({ pgPool, schema })
    hasTables = true
    await pgPool.query(addJob, [queueName(run), JSON.stringify(run), isLater ? new Date(at) : null, key])
  }

  return {
    name: 'graphile-worker',
    wake,
    async serve(work) {
      const advance: Task = async (payload, { job }) => {
        const wanted = payload as Wake
        // the worker has logged the error and the run stays ready; a job that fails would stay in the table
        const advanced = await work.advance(wanted.runId, { via: job.id }).catch(() => undefined)
        const next = advanced && nextWakeAt(advanced)
        if (next !== undefined) await wake(wanted, next)
      }
      const taskList = Object.fromEntries(work.lanes.map((lane) => [queueName(lane), advance]))
      const { concurrency, signal } = work
      const runner = await startRunner({ ...options, concurrency, taskList, noHandleSignals: true })
      if (!signal.aborted) await Promise.race([once(signal, 'abort'), runner.promise])
      if (!signal.aborted) throw new Error('Graphile Worker has stopped; its log says why')
      await runner.stop()
    },
  }
}
