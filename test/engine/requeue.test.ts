// A request, without the code, that a worker continue a run: whatever is killed when, the run is continued once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryStore, type Store } from 'reprise/stores'
import { requeue } from '../../src/engine/inbox/send-message.ts'
import { openEngine, realWorld } from '../../src/engine/world.ts'
import { claimed, claims, workOnce } from '../workers/worker-crews.ts'
import { entriesOf } from './support.ts'

const inputs = { notes: 'x' }

test('a request whose sender is killed before recording it is recorded by the worker that it wakes', async () => {
  const store = memoryStore()
  const crew = claims(store)
  await crew.kickoff({ id: 'r', inputs, through: 'one' })
  // the message is stored, but its sender dies before it can record it
  const killed: Store = {
    ...store,
    acquire: () => Promise.reject(new Error('killed')),
  }
  await assert.rejects(requeue(openEngine(killed, realWorld()), 'r', { by: 'Ada' }), /killed/)
  assert.equal((await store.inbox('r')).length, 1)
  assert.ok(claimed(await workOnce([crew])).length > 0)
  assert.equal((await crew.run('r').view()).status, 'completed')
  const types = (await entriesOf(store, 'r')).map(({ type }) => type)
  assert.equal(types.filter((type) => type === 'run.requeued').length, 1)
})

test('two requests continue a run once, and the second reports why it had no effect', async () => {
  const store = memoryStore()
  const crew = claims(store)
  await crew.kickoff({ id: 'r', inputs, through: 'one' })
  const engine = openEngine(store, realWorld())
  await requeue(engine, 'r', { by: 'Grace' })
  const at = new Date().toISOString()
  await store.post('r', { id: 'requeue:1', at, body: '{"type":"requeue","by":"Ada"}' })
  await workOnce([crew])
  const refused = (await entriesOf(store, 'r')).flatMap((entry) =>
    entry.type === 'message.refused' ? [entry.reason] : [],
  )
  assert.deepEqual(refused, ['the run has been continued meanwhile'])
  assert.equal((await crew.run('r').view()).status, 'completed')
})

test('a run that is queued, ended or missing is not put into the queue again', async () => {
  const store = memoryStore()
  const crew = claims(store)
  await crew.enqueue({ id: 'queued', inputs })
  await crew.kickoff({ id: 'done', inputs })
  const engine = openEngine(store, realWorld())
  await assert.rejects(requeue(engine, 'queued', {}), { code: 'RUN_HELD' })
  await assert.rejects(requeue(engine, 'done', {}), { code: 'RUN_ENDED' })
  await assert.rejects(requeue(engine, 'none', {}), { code: 'RUN_NOT_FOUND' })
})

test('a handle queues its run, notifies the dispatcher, and refuses a run that workers continue anyway', async () => {
  const store = memoryStore()
  const told: string[] = []
  const wake = async ({ runId }: { readonly runId: string }): Promise<void> => void told.push(runId)
  const dispatcher = { name: 'test', wake }
  const crew = claims(store, { dispatcher })
  await crew.kickoff({ id: 'r', inputs, through: 'one' })
  await crew.run('r').requeue({ by: 'Ada' })
  assert.deepEqual([(await crew.run('r').view()).status, told], ['queued', ['r']])
  await assert.rejects(crew.run('r').requeue(), { code: 'RUN_HELD' })
  await assert.rejects(crew.run('r').requeue({ who: 'Ada' } as never), { code: 'OPTION_UNKNOWN' })
  await assert.rejects(crew.run('none').requeue(), { code: 'RUN_NOT_FOUND' })
  await assert.rejects(claims(store, { name: 'other' }).run('r').requeue(), { code: 'RUN_NOT_FOUND' })
  await workOnce([claims(store)])
  await assert.rejects(crew.run('r').requeue(), { code: 'RUN_ENDED' })
  const entry = (await entriesOf(store, 'r')).find(({ type }) => type === 'run.requeued')
  assert.equal(entry?.type === 'run.requeued' && entry.by, 'Ada')
})
