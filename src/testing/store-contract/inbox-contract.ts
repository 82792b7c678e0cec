// Messages: each id once, oldest first, removed from the inbox by the append that records them.
import assert from 'node:assert/strict'
import { currentOwner } from '../../stores/owner.ts'
import { batch, check, claimed, message, refused, row, seqsOf, started, ttlMs, type StoreUnderTest } from './harness.ts'

export function inboxContract(under: StoreUnderTest): void {
  check('lists the messages of a run oldest first, exactly as posted', under, async ({ store }) => {
    await started(store, 'r')
    await started(store, 'other')
    const messages = [message('z', '{"answer":"字\\n"}'), message('a', ''), message('m/../x', '\u0001 "quoted"')]
    for (const each of messages) assert.equal(await store.post('r', each), 'posted')
    assert.deepEqual(await store.inbox('r'), messages)
    assert.deepEqual(await store.inbox('other'), [])
    assert.deepEqual(await store.inbox('unknown'), [])
  })

  check('refuses a message to an unknown run', under, async ({ store }) => {
    await refused(store.post('r', message('m')), 'RUN_NOT_FOUND', /\br\b/)
  })

  check('keeps the first message of an id and reports that the second exists', under, async ({ store }) => {
    await started(store, 'r')
    const results = await Promise.all([1, 2, 3].map((n) => store.post('r', message('m', `answer ${n}`))))
    assert.deepEqual(results.toSorted(), ['exists', 'exists', 'posted'])
    assert.equal((await store.inbox('r')).length, 1)
  })

  check('removes messages from the inbox with the append that records them', under, async ({ store }) => {
    const lease = await started(store, 'r')
    for (const id of ['a', 'b', 'c']) await store.post('r', message(id))
    await store.append(lease, 1, batch(2, 2, { taken: ['c', 'a'] }))
    assert.deepEqual(await store.inbox('r'), [message('b')])
    assert.equal(await store.post('r', message('a')), 'exists')
  })

  check('counts a message only once if an append takes it twice', under, async ({ store }) => {
    const lease = await started(store, 'r')
    for (const id of ['a', 'b']) await store.post('r', message(id))
    assert.equal(await store.append(lease, 1, batch(2, 1, { taken: ['a', 'a'] })), 1)
    assert.equal(await store.release(lease), 1)
  })

  check('keeps messages when the append that takes them is refused', under, async ({ store }) => {
    const lease = await started(store, 'r')
    await store.post('r', message('a'))
    await refused(store.append(lease, 7, batch(8, 1, { taken: ['a'] })), 'SEQ_CONFLICT')
    assert.deepEqual(await store.inbox('r'), [message('a')])
  })

  for (const status of ['completed', 'cancelled'] as const) {
    check(`refuses a message to a run that is ${status}`, under, async ({ store }) => {
      const lease = await started(store, 'r')
      await store.post('r', message('before'))
      await store.append(lease, 1, batch(2, 1, { row: row('r', { status }), taken: ['before'] }))
      assert.equal(await store.post('r', message('after')), 'ended')
      assert.equal(await store.post('r', message('before')), 'exists')
      assert.deepEqual(await store.inbox('r'), [])
    })
  }

  check('does not complete a run while a message waits that the append does not take', under, async ({ store }) => {
    const lease = await started(store, 'r')
    const completed = { row: row('r', { status: 'completed' }) }
    await store.post('r', message('a'))
    await store.post('r', message('b'))
    await refused(store.append(lease, 1, batch(2, 1, { ...completed, taken: ['a'] })), 'INBOX_WAITING', /\bb\b/)
    assert.deepEqual([await seqsOf(store, 'r'), (await store.inbox('r')).length], [[1], 2])
    await store.append(lease, 1, batch(2, 1, { taken: ['a'] }))
    await store.append(lease, 2, batch(3, 1, { ...completed, taken: ['b'] }))
    assert.equal((await store.row('r'))?.status, 'completed')
  })

  check('cancels a run even while messages wait', under, async ({ store }) => {
    const lease = await started(store, 'r')
    await store.post('r', message('a'))
    await store.append(lease, 1, batch(2, 1, { row: row('r', { status: 'cancelled' }) }))
    assert.deepEqual(await store.inbox('r'), [message('a')])
  })

  check(
    'does not count messages to a cancelled run as waiting, and they do not make its root ready',
    under,
    async ({ store }) => {
      const lease = await started(store, 'r')
      for (const run of ['r/a#1', 'r/b#1']) await store.create(row(run), batch(1), lease)
      await store.append(lease, 1, batch(2, 1, { row: row('r', { status: 'suspended' }) }))
      for (const id of ['recorded', 'late', 'later']) await store.post('r/a#1', message(id))
      await store.post('r/b#1', message('m'))
      const cancelled = { run: 'r/a#1', row: row('r/a#1', { status: 'cancelled' }), taken: ['recorded'] }
      assert.equal(await store.append(lease, 1, batch(2, 1, cancelled)), 1)
      // they stay readable, so that their senders see that they were not recorded
      assert.deepEqual(await store.inbox('r/a#1'), [message('late'), message('later')])
      await store.append(lease, 1, batch(2, 1, { run: 'r/b#1', taken: ['m'] }))
      assert.equal(await store.release(lease), 0)
      assert.deepEqual(await claimed(store), [])
      await store.post('r', message('m'))
      await store.delete('r/a#1')
      const again = await store.acquire('r', currentOwner(), ttlMs)
      assert.equal(await store.release(again), 1)
      assert.deepEqual(await claimed(store), ['r'])
    },
  )

  check('accepts messages to failed, suspended and queued runs', under, async ({ store }) => {
    for (const status of ['failed', 'suspended', 'queued'] as const) {
      await store.create(row(status, { status }), batch(1))
      assert.equal(await store.post(status, message('m')), 'posted')
    }
  })

  check('refuses a message to a child run whose root has ended or does not exist', under, async ({ store }) => {
    const lease = await started(store, 'r')
    await store.create(row('r/a#1'), batch(1), lease)
    await store.append(lease, 1, batch(2, 1, { row: row('r', { status: 'cancelled' }) }))
    assert.equal(await store.post('r/a#1', message('m')), 'ended')
    await store.create(row('gone/a#1'), batch(1))
    await refused(store.post('gone/a#1', message('m')), 'RUN_NOT_FOUND', /gone/)
  })

  check('returns from appends, renewals and releases how many messages wait for the tree', under, async ({ store }) => {
    const lease = await started(store, 'r')
    await store.create(row('r/a#1'), batch(1), lease)
    assert.equal(await store.append(lease, 1, batch(2)), 0)
    await store.post('r', message('a'))
    await store.post('r/a#1', message('a'))
    await store.post('r/a#1', message('b'))
    await store.post('r/a#1', message('b'))
    assert.equal(await store.append(lease, 2, batch(3)), 3)
    assert.equal(await store.append(lease, 1, batch(2, 1, { run: 'r/a#1', taken: ['b', 'unknown'] })), 2)
    assert.equal(await store.append(lease, 2, batch(3, 1, { run: 'r/a#1', taken: ['b'] })), 2)
    assert.deepEqual(await store.renew([lease], 1000), [{ lease, waiting: 2 }])
    assert.equal(await store.append(lease, 3, batch(4, 1, { row: row('r'), taken: ['a'] })), 1)
    assert.equal(await store.release(lease), 1)
    assert.equal(await store.release(lease), 0)
  })

  check('forgets the messages of a deleted run', under, async ({ store }) => {
    await store.create(row('r'), batch(1))
    await store.post('r', message('m'))
    await store.delete('r')
    await started(store, 'r')
    assert.deepEqual(await store.inbox('r'), [])
    assert.equal(await store.post('r', message('m')), 'posted')
  })
}
