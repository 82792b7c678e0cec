// The result of a run that fails in a worker and is retried.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Crew, Task } from 'reprise'
import { memoryStore } from 'reprise/stores'
import { startWorker } from 'reprise/workers'

/** A crew that fails this many times, and is retried twice. */
function failing(times: number, store = memoryStore()) {
  let left = times
  const run = (): string => {
    if (left-- > 0) throw new Error('no power')
    return 'done'
  }
  const task = new Task({ name: 'one', version: '1', effect: 'read', run })
  const make = () => new Crew({ name: 'failing', tasks: [task], store, retries: { times: 2, backoff: 0.01 } })
  return { crew: make(), elsewhere: make() }
}

test('the result of a queued run is the result of its last try, in the process of the worker and in others', async () => {
  const { crew, elsewhere } = failing(2)
  const run = await crew.enqueue({ id: 'r' })
  const results = [run.result(), elsewhere.run('r').result()]
  await using _ = await startWorker([crew], { pollSeconds: 0.01 })
  for (const result of await Promise.all(results)) assert.equal(result.status === 'completed' && result.raw, 'done')
  assert.equal((await run.view()).lives, 3)
})

test('the result of a queued run that fails every try is its last failure', async () => {
  const { crew, elsewhere } = failing(3)
  const run = await crew.enqueue({ id: 'r' })
  const results = Promise.allSettled([run.result(), elsewhere.run('r').result()])
  await using _ = await startWorker([crew], { pollSeconds: 0.01 })
  for (const result of await results)
    assert.match(String(result.status === 'rejected' && result.reason), /task one failed: no power/)
  assert.equal((await run.view()).lives, 3)
})

test('a kickoff rejects when its own try fails, while a handle of the run waits for the next try', async () => {
  const { crew, elsewhere } = failing(1)
  const started = crew.kickoff({ id: 'r' })
  await assert.rejects(started, { code: 'TASK_FAILED' })
  await assert.rejects((await started.started).result(), { code: 'TASK_FAILED' })
  const result = elsewhere.run('r').result()
  await using _ = await startWorker([crew], { pollSeconds: 0.01 })
  assert.equal((await result).status, 'completed')
})
