// Which runs a claim offers to a worker, when, and in which order.
import assert from 'node:assert/strict'
import { runStatuses } from '../../journal/entries.ts'
import { currentOwner } from '../../stores/owner.ts'
import type { Lease, Store } from '../../stores/store.ts'
import {
  add,
  batch,
  check,
  checkIf,
  claimed,
  deadOwner,
  elsewhere,
  lane,
  message,
  row,
  seqsOf,
  started,
  ttlMs,
  type StoreUnderTest,
} from './harness.ts'

const hour = 3_600_000

export function readyContract(under: StoreUnderTest): void {
  check('claims due runs and runs with a message, whatever their status', under, async ({ store }) => {
    for (const status of runStatuses) {
      await add(store, `due ${status}`, { status }, Date.now() - 2)
      await add(store, `not due ${status}`, { status })
      await add(store, `later ${status}`, { status }, Date.now() + hour)
      await add(store, `message ${status}`, { status })
      await store.post(`message ${status}`, message('m'))
    }
    await started(store, 'held', elsewhere('box1'))
    const open = runStatuses.filter((status) => status !== 'completed' && status !== 'cancelled')
    const leases = await store.claim(currentOwner(), ttlMs, [lane], { limit: 100 })
    assert.deepEqual(
      leases.map((lease) => lease.run).toSorted(),
      open.flatMap((status) => [`due ${status}`, `message ${status}`]).toSorted(),
    )
    for (const lease of leases) await store.append(lease, 1, batch(2))
    assert.deepEqual(await seqsOf(store, 'due queued'), [1, 2])
  })

  checkIf('order', 'claims the highest priority first, then the longest ready', under, async ({ store }) => {
    const now = Date.now()
    await add(store, 'low', { priority: -1 }, now - 9_000)
    await add(store, 'second', {}, now - 5_000)
    await add(store, 'first', {}, now - 7_000)
    await add(store, 'urgent, second', { priority: 1 }, now - 1_000)
    await add(store, 'urgent, first', { priority: 1 }, now - 2_000)
    assert.deepEqual(await claimed(store, 2), ['urgent, first', 'urgent, second'])
    assert.deepEqual(await claimed(store), ['first', 'second', 'low'])
  })

  check('claims no more than the limit, and no run twice', under, async ({ store }) => {
    for (const run of ['a', 'b', 'c']) await add(store, run, {}, Date.now() - 1_000)
    const first = await claimed(store, 2)
    const second = await claimed(store, 2)
    assert.deepEqual([first.length, second.length], [2, 1])
    assert.deepEqual([...first, ...second].toSorted(), ['a', 'b', 'c'])
    assert.deepEqual(await claimed(store, 2, elsewhere('a')), [])
    await add(store, 'd', {}, 'now')
    assert.deepEqual(await claimed(store, 0), [])
    assert.deepEqual(await claimed(store, Number.POSITIVE_INFINITY), ['d'])
  })

  check('claims runs of the requested crews, versions and formats', under, async ({ store }) => {
    const now = Date.now()
    await add(store, 'a1', { crew: 'a' }, now - 1_000)
    await add(store, 'a2', { crew: 'a', version: '2' }, now - 2_000)
    await add(store, 'a3', { crew: 'a', version: '2', format: 2 }, now - 3_000)
    await add(store, 'b1', { crew: 'b' }, now - 4_000)
    const [a2, b1] = [
      { crew: 'a', version: '2', format: 1 },
      { crew: 'b', version: '1', format: 1 },
    ]
    assert.deepEqual(await claimed(store, 10, currentOwner(), []), [])
    assert.deepEqual((await claimed(store, 10, currentOwner(), [a2, b1, a2])).toSorted(), ['a2', 'b1'])
    assert.deepEqual(await claimed(store, 10, currentOwner(), [{ ...a2, format: 2 }]), ['a3'])
  })

  check('offers a run in the lane of its newest row', under, async ({ store }) => {
    const lease = await started(store, 'r')
    await store.append(lease, 1, batch(2, 1, { row: row('r', { version: '2' }), due: 'now' }))
    await store.release(lease)
    assert.deepEqual(await claimed(store), [])
    assert.deepEqual(await claimed(store, 10, currentOwner(), [{ ...lane, version: '2' }]), ['r'])
  })

  check('never leases one run to two callers', under, async ({ store }) => {
    const runs = Array.from({ length: 30 }, (_, index) => `r${index}`)
    for (const run of runs) await add(store, run, {}, 'now')
    const claims = Array.from({ length: 10 }, (_, index) => claimed(store, 4, elsewhere(`box${index}`)))
    assert.deepEqual((await Promise.all(claims)).flat().toSorted(), runs.toSorted())
  })

  checkIf('clock', 'claims a run when it is due, not a moment earlier', under, async ({ store, place, pass }) => {
    assert.ok(Math.abs((await store.now()) - place.now()) < 60_000)
    await add(store, 'r', { status: 'queued' }, (await store.now()) + hour)
    pass(hour - 1_000)
    assert.deepEqual(await claimed(store), [])
    pass(1_000)
    assert.deepEqual(await claimed(store), ['r'])
  })

  checkIf('takeover', 'claims a run from a dead process', under, async ({ store }) => {
    await started(store, 'r', deadOwner())
    await started(store, 'asleep', deadOwner()).then((lease) => suspend(store, lease))
    assert.deepEqual(await claimed(store, 10, elsewhere('b')), ['r'])
  })

  checkIf('clock', 'claims a run whose lease has expired', under, async ({ store, pass }) => {
    await started(store, 'r', elsewhere('a'))
    pass(ttlMs - 1_000)
    assert.deepEqual(await claimed(store, 10, elsewhere('b')), [])
    pass(1_001)
    assert.deepEqual(await claimed(store, 10, elsewhere('b')), ['r'])
  })

  checkIf(
    'clock',
    'does not offer excluded runs whose leases have expired, and offers others instead',
    under,
    async ({ store, pass }) => {
      for (const run of ['a', 'b', 'c']) await started(store, run, elsewhere('a'))
      pass(ttlMs + 1)
      const has = { exclude: new Set(['a', 'c']) }
      assert.deepEqual(await claimed(store, 1, elsewhere('a'), [lane], has), ['b'])
      assert.deepEqual(await claimed(store, 1, elsewhere('a'), [lane], has), [])
      assert.deepEqual((await claimed(store, 10, elsewhere('a'))).toSorted(), ['a', 'c'])
    },
  )

  check('offers a released run again if it is due or a message waits, and not otherwise', under, async ({ store }) => {
    await store.release(await started(store, 'under way'))
    const messaged = await started(store, 'messaged')
    await suspend(store, messaged)
    await store.post('messaged', message('m'))
    await store.release(messaged)
    const asleep = await started(store, 'asleep')
    await suspend(store, asleep)
    await store.release(asleep)
    assert.deepEqual((await claimed(store)).toSorted(), ['messaged', 'under way'])
  })

  check('no longer offers a run for messages that were taken', under, async ({ store }) => {
    await add(store, 'r', { status: 'suspended' })
    await store.post('r', message('m'))
    const [lease] = await store.claim(currentOwner(), ttlMs, [lane], { limit: 1 })
    assert.ok(lease)
    await store.append(lease, 1, batch(2, 1, { taken: ['m'] }))
    await store.release(lease)
    assert.deepEqual(await claimed(store), [])
  })

  check('never offers a child run, even if its batch is due', under, async ({ store }) => {
    const lease = await started(store, 'r')
    await store.create(row('r/a#1'), batch(1, 1, { due: 'now' }), lease)
    await store.append(lease, 1, batch(2, 1, { run: 'r/a#1', row: row('r/a#1'), due: 'now' }))
    await suspend(store, lease)
    await store.release(lease)
    assert.deepEqual(await claimed(store), [])
  })

  check('offers the root for a message to a child run, until it is taken or deleted', under, async ({ store }) => {
    const lease = await started(store, 'r')
    for (const run of ['r/a#1', 'r/a#1/b#1', 'r/c#1']) await store.create(row(run), batch(1), lease)
    await suspend(store, lease)
    await store.release(lease)
    await store.post('r/a#1/b#1', message('m'))
    const [first] = await store.claim(currentOwner(), ttlMs, [lane], { limit: 10 })
    assert.equal(first?.run, 'r')
    await store.append(first, 1, batch(2, 1, { run: 'r/a#1/b#1', row: row('r/a#1/b#1'), taken: ['m'] }))
    await store.release(first)
    assert.deepEqual(await claimed(store), [])
    await store.post('r/c#1', message('m'))
    await store.delete('r/c#1')
    assert.deepEqual(await claimed(store), [])
  })

  checkIf(
    'clock',
    'offers a root that became due while a message to a child run waited, once that is taken and the lease has expired',
    under,
    async ({ store, pass }) => {
      const lease = await started(store, 'r', elsewhere('a'))
      await store.create(row('r/a#1'), batch(1), lease)
      await suspend(store, lease)
      await store.post('r/a#1', message('m'))
      await store.append(lease, 2, batch(3, 1, { row: row('r', { status: 'suspended' }), due: 'now' }))
      await store.append(lease, 1, batch(2, 1, { run: 'r/a#1', row: row('r/a#1'), taken: ['m'] }))
      pass(ttlMs + 1)
      assert.deepEqual(await claimed(store, 10, elsewhere('b')), ['r'])
    },
  )

  checkIf('reopen', 'offers the same runs after it is reopened', under, async ({ store, reopen }) => {
    const lease = await started(store, 'r')
    await store.create(row('r/a#1'), batch(1), lease)
    await suspend(store, lease)
    await store.release(lease)
    await store.post('r/a#1', message('m'))
    await add(store, 'due', { priority: 1 }, 'now')
    await add(store, 'not due', {})
    await add(store, 'later', {}, Date.now() + hour)
    await store.close()
    assert.deepEqual((await claimed(await reopen(store))).toSorted(), ['due', 'r'])
  })
}

/** Appends entry 2, which suspends the run. */
async function suspend(store: Store, lease: Lease): Promise<void> {
  await store.append(lease, 1, batch(2, 1, { row: row(lease.run, { status: 'suspended' }) }))
}
