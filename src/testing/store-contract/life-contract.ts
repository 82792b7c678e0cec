// Watching, deleting, closing and reopening.
import assert from 'node:assert/strict'
import type { Store } from '../../stores/store.ts'
import {
  batch,
  check,
  checkIf,
  elsewhere,
  linesOf,
  message,
  refused,
  row,
  seqsOf,
  started,
  type StoreUnderTest,
} from './harness.ts'

export function lifeContract(under: StoreUnderTest): void {
  const changes: { readonly [what: string]: (store: Store) => Promise<unknown> } = {
    'an append': async (store) => store.append(await store.acquire('r', elsewhere('a'), 1000), 1, batch(2)),
    'a message': (store) => store.post('r', { id: 'm', at: '', body: '' }),
    'a release': async (store) => store.release(await store.acquire('r', elsewhere('a'), 1000)),
    'a deletion': (store) => store.delete('r'),
  }
  for (const [what, change] of Object.entries(changes)) {
    for (const run of ['r', undefined]) {
      checkIf(
        'watch',
        `wakes watchers of ${run === undefined ? 'all runs' : 'the run'} after ${what}`,
        under,
        async ({ store }) => {
          await store.create(row('r'), batch(1))
          const ending = new AbortController()
          const hints = store.watch(run, ending.signal)[Symbol.asyncIterator]()
          await change(store)
          assert.equal((await hints.next()).done, false)
          ending.abort()
          assert.equal((await hints.next()).done, true)
        },
      )
    }
  }

  checkIf(
    'watch',
    'wakes the watchers of a child run and of its root for a message to the child run',
    under,
    async ({ store }) => {
      for (const run of ['r', 'r/a#1']) await store.create(row(run), batch(1))
      const { signal } = new AbortController()
      const hints = ['r', 'r/a#1'].map((run) => store.watch(run, signal)[Symbol.asyncIterator]())
      await store.post('r/a#1', message('m'))
      for (const hint of hints) assert.equal((await hint.next()).done, false)
    },
  )

  checkIf(
    'watch',
    'ends a watch when its signal aborts or has aborted before, and when the store is closed',
    under,
    async ({ store }) => {
      const ending = new AbortController()
      const waiting = Array.fromAsync(store.watch('r', ending.signal))
      ending.abort()
      await waiting
      await Array.fromAsync(store.watch('r', ending.signal))
      const open = Array.fromAsync(store.watch(undefined, new AbortController().signal))
      await store.close()
      await open
    },
  )

  check('deletes a run with everything that belongs to it, and nothing else', under, async ({ store }) => {
    const blobs = [{ hash: 'h', bytes: Buffer.from('b') }]
    for (const run of ['r', 'r2']) await store.create(row(run, { forkedFrom: 'r' }), batch(1, 2, { blobs }))
    await store.delete('r')
    await store.delete('r')
    await store.delete('unknown')
    assert.deepEqual(await seqsOf(store, 'r'), [])
    assert.equal(await store.row('r'), undefined)
    assert.equal(await store.blob('r', 'h'), undefined)
    assert.deepEqual((await store.list({}, { limit: 10 })).rows, [row('r2', { forkedFrom: 'r' })])
    assert.deepEqual(await seqsOf(store, 'r2'), [1, 2])
    assert.deepEqual(Buffer.from((await store.blob('r2', 'h')) ?? []), blobs[0]?.bytes)
  })

  check('deletes a run with its child runs, and no run with a similar name', under, async ({ store }) => {
    const within = ['r/a#1', 'r/a#1/b#2', 'r/a#2']
    const others = ['r1', 'r/a', 'r/a#x', 'rr/a#1', 'x/r/a#1']
    for (const run of ['r', ...within, ...others]) await store.create(row(run), batch(1))
    await store.delete('r/a#1')
    assert.deepEqual(await namesIn(store), ['r', 'r/a#2', ...others].toSorted())
    await store.delete('r')
    assert.deepEqual(await namesIn(store), others.toSorted())
  })

  check('deletes nothing while the root of the run is leased', under, async ({ store }) => {
    for (const run of ['r', 'r/a#1', 'r/a#2']) await store.create(row(run), batch(1))
    const lease = await store.acquire('r/a#2', elsewhere('a'), 1000)
    await refused(store.delete('r'), 'RUN_HELD')
    assert.deepEqual(await namesIn(store), ['r', 'r/a#1', 'r/a#2'])
    await store.release(lease)
    await store.delete('r')
    assert.deepEqual(await namesIn(store), [])
  })

  check('creates a run with the id of a deleted run', under, async ({ store }) => {
    const blobs = [{ hash: 'h', bytes: Buffer.from('b') }]
    await store.create(row('r'), batch(1, 3, { blobs }))
    await store.delete('r')
    assert.deepEqual(await store.create(row('r'), batch(1)), { created: true })
    assert.deepEqual(await seqsOf(store, 'r'), [1])
    assert.equal(await store.blob('r', 'h'), undefined)
  })

  check('finishes pending calls before it closes, and refuses later ones', under, async ({ store }) => {
    const lease = await started(store, 'r')
    const pending = store.append(lease, 1, batch(2))
    await store.close()
    await pending
    await store.close()
    await refused(store.append(lease, 2, batch(3)), 'STORE_FAILED', /closed/)
    await refused(store.row('r'), 'STORE_FAILED', /closed/)
    await refused(linesOf(store, 'r'), 'STORE_FAILED', /closed/)
  })

  checkIf('reopen', 'has the same contents when it is reopened', under, async ({ store, reopen }) => {
    const lease = await started(store, 'r', elsewhere('a'))
    await store.post('r', { id: 'taken', at: '', body: '' })
    await store.post('r', { id: 'waiting', at: '', body: 'body' })
    const blobs = [{ hash: 'h', bytes: Buffer.from([0, 255]) }]
    const outputs = [{ task: 'facts', fingerprint: 'f', seq: 3 }]
    const changed = row('r', { status: 'suspended' })
    await store.append(lease, 1, batch(2, 2, { row: changed, blobs, outputs, taken: ['taken'] }))
    const lines = await linesOf(store, 'r')
    await store.close()

    const again = await reopen(store)
    assert.equal(again.url, store.url)
    assert.deepEqual(await linesOf(again, 'r'), lines)
    assert.deepEqual(await again.row('r'), changed)
    assert.deepEqual(Buffer.from((await again.blob('r', 'h')) ?? []), blobs[0]?.bytes)
    const output = await again.findOutput('claims', 'facts', 'f')
    assert.deepEqual([output?.run, output?.seq], ['r', 3])
    assert.deepEqual(await again.inbox('r'), [{ id: 'waiting', at: '', body: 'body' }])
    assert.deepEqual(await again.holder('r'), elsewhere('a'))
    await again.append(lease, 3, batch(4))
    assert.deepEqual(await seqsOf(again, 'r'), [1, 2, 3, 4])
  })
}

async function namesIn(store: Store): Promise<string[]> {
  return (await store.list({}, { limit: 100 })).rows.map(({ run }) => run).toSorted()
}
