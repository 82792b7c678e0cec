// Leases: the right to write, and takeovers.
import assert from 'node:assert/strict'
import { currentOwner } from '../../stores/owner.ts'
import {
  batch,
  check,
  checkIf,
  deadOwner,
  elsewhere,
  lane,
  refused,
  row,
  seqsOf,
  started,
  ttlMs,
  type StoreUnderTest,
} from './harness.ts'

export function leaseContract(under: StoreUnderTest): void {
  check('refuses a held run and names its holder', under, async ({ store }) => {
    await started(store, 'r', elsewhere('box1'))
    await refused(store.acquire('r', currentOwner(), ttlMs), 'RUN_HELD', /process 4242 on host box1\.example/)
    assert.deepEqual(await store.holder('r'), elsewhere('box1'))
  })

  check('refuses to lease an unknown run', under, async ({ store }) => {
    await refused(store.acquire('r', currentOwner(), ttlMs), 'RUN_NOT_FOUND', /\br\b/)
    assert.equal(await store.holder('r'), undefined)
  })

  check('lets the same owner acquire its run again with a higher token', under, async ({ store }) => {
    const first = await started(store, 'r', elsewhere('box1'))
    const second = await store.acquire('r', elsewhere('box1'), ttlMs)
    assert.ok(second.token > first.token)
    assert.notEqual(second.id, first.id)
    assert.deepEqual(second, { run: 'r', token: second.token, id: second.id, owner: elsewhere('box1') })
  })

  check('keeps threads and copies of the library in one process apart', under, async ({ store }) => {
    const lease = await started(store, 'r')
    const other = { ...currentOwner(), instance: 'another thread' }
    await refused(store.acquire('r', other, ttlMs), 'RUN_HELD')
    assert.deepEqual(await store.claim(other, ttlMs, [lane], { limit: 10 }), [])
    await store.append(lease, 1, batch(2))
    await store.release(lease)
    assert.deepEqual((await store.acquire('r', other, ttlMs)).owner, other)
    await refused(store.acquire('r', currentOwner(), ttlMs), 'RUN_HELD')
  })

  checkIf('takeover', 'takes over at once from a dead process of this machine', under, async ({ store }) => {
    const dead = await started(store, 'r', deadOwner())
    assert.equal(await store.holder('r'), undefined)
    const lease = await store.acquire('r', elsewhere('box1'), ttlMs)
    assert.ok(lease.token > dead.token)
    await refused(store.append(dead, 1, batch(2)), 'LEASE_LOST')
  })

  check('issues a higher token than any before, also after a release or a deletion', under, async ({ store }) => {
    const first = await started(store, 'r')
    await store.release(first)
    const second = await store.acquire('r', elsewhere('a'), ttlMs)
    await store.release(second)
    await store.delete('r')
    const third = await started(store, 'r')
    assert.ok(first.token < second.token && second.token < third.token)
  })

  checkIf(
    'clock',
    'grants a run to another owner when the lease has expired, not a moment earlier',
    under,
    async ({ store, pass }) => {
      const first = await started(store, 'r', elsewhere('a'))
      pass(ttlMs - 1000)
      await refused(store.acquire('r', elsewhere('b'), ttlMs), 'RUN_HELD')
      pass(1001)
      assert.equal(await store.holder('r'), undefined)
      const second = await store.acquire('r', elsewhere('b'), ttlMs)
      assert.ok(second.token > first.token)
      assert.deepEqual(await store.holder('r'), elsewhere('b'))
    },
  )

  checkIf('clock', 'keeps a renewed lease past its first expiry', under, async ({ store, pass }) => {
    const lease = await started(store, 'r', elsewhere('a'))
    pass(ttlMs - 1000)
    assert.deepEqual(await store.renew([lease], ttlMs), [{ lease, waiting: 0 }])
    pass(ttlMs - 1000)
    await refused(store.acquire('r', elsewhere('b'), ttlMs), 'RUN_HELD')
  })

  checkIf('clock', 'renews an expired lease that no process took', under, async ({ store, pass }) => {
    const [kept, lost] = [await started(store, 'kept', elsewhere('a')), await started(store, 'lost', elsewhere('a'))]
    pass(ttlMs + 1)
    await store.acquire('lost', elsewhere('b'), ttlMs)
    assert.deepEqual(await store.renew([kept, lost], ttlMs), [{ lease: kept, waiting: 0 }])
    await refused(store.acquire('kept', elsewhere('b'), ttlMs), 'RUN_HELD')
    assert.deepEqual(await store.claim(elsewhere('b'), ttlMs, [lane], { limit: 10 }), [])
  })

  check('renews the leases that are still held and returns only them', under, async ({ store }) => {
    const kept = await started(store, 'kept')
    const released = await started(store, 'released')
    const lost = await started(store, 'lost')
    const deleted = await started(store, 'deleted')
    await store.release(released)
    await store.acquire('lost', currentOwner(), ttlMs)
    await store.release(deleted)
    await store.delete('deleted')
    assert.deepEqual(await store.renew([released, kept, lost, deleted], ttlMs), [{ lease: kept, waiting: 0 }])
    assert.deepEqual(await store.renew([], ttlMs), [])
  })

  check('frees a run by a release, and ignores the release of a lost lease', under, async ({ store }) => {
    const first = await started(store, 'r')
    const second = await store.acquire('r', currentOwner(), ttlMs)
    await store.release(first)
    assert.deepEqual(await store.holder('r'), currentOwner())
    await store.release(second)
    await store.release(second)
    assert.equal(await store.holder('r'), undefined)
    await store.acquire('r', elsewhere('a'), ttlMs)
  })

  check('grants a free run to one of many concurrent callers', under, async ({ store }) => {
    await store.create(row('r'), batch(1))
    const asked = Array.from({ length: 8 }, (_, index) => store.acquire('r', elsewhere(`box${index}`), ttlMs))
    const results = await Promise.allSettled(asked)
    assert.equal(results.filter((result) => result.status === 'fulfilled').length, 1)
  })

  check('identifies a lease by the id of its acquisition, not by its token alone', under, async ({ store }) => {
    const lease = await started(store, 'r', elsewhere('a'))
    const forged = { ...lease, id: 'another' }
    await refused(store.append(forged, 1, batch(2)), 'LEASE_LOST')
    await refused(store.create(row('r/a#1'), batch(1), forged), 'LEASE_LOST')
    assert.deepEqual(await store.renew([forged], ttlMs), [])
    assert.equal(await store.release(forged), 0)
    assert.deepEqual(await store.holder('r'), elsewhere('a'))
    await store.append({ ...lease, owner: elsewhere('b') }, 1, batch(2))
  })

  check('leases a child run by leasing its root', under, async ({ store }) => {
    for (const run of ['r', 'r/a#1', 'r/a#1/b#1']) await store.create(row(run), batch(1))
    const lease = await store.acquire('r/a#1/b#1', elsewhere('a'), ttlMs)
    assert.equal(lease.run, 'r')
    for (const run of ['r', 'r/a#1', 'r/a#1/b#1', 'r/later#1'])
      assert.deepEqual(await store.holder(run), elsewhere('a'))
    for (const run of ['r', 'r/a#1']) await refused(store.acquire(run, elsewhere('b'), ttlMs), 'RUN_HELD')
    for (const run of ['r', 'r/a#1', 'r/a#1/b#1']) await store.append(lease, 1, batch(2, 1, { run }))
    await store.release(lease)
    const next = await store.acquire('r/a#1', elsewhere('b'), ttlMs)
    assert.ok(next.token > lease.token)
    await refused(store.append(lease, 2, batch(3, 1, { run: 'r/a#1/b#1' })), 'LEASE_LOST')
  })

  check('creates a child run under the lease of its root', under, async ({ store }) => {
    const lease = await started(store, 'r', elsewhere('a'))
    assert.deepEqual(await store.create(row('r/a#1'), batch(1), lease), { created: true, lease })
    assert.deepEqual(await store.create(row('r/a#1'), batch(1), lease), { created: false })
    const again = await store.create(row('r/a#1/b#1'), batch(1), { owner: elsewhere('a'), ttlMs })
    assert.equal(again.lease?.run, 'r')
    await refused(store.create(row('r/a#2'), batch(1), lease), 'LEASE_LOST')
    await refused(store.create(row('r/a#2'), batch(1), { owner: elsewhere('b'), ttlMs }), 'RUN_HELD')
    await refused(store.create(row('gone/a#1'), batch(1), { owner: elsewhere('b'), ttlMs }), 'RUN_NOT_FOUND', /gone/)
    assert.deepEqual([await store.row('r/a#2'), await store.row('gone/a#1')], [undefined, undefined])
  })

  check('refuses writes to runs outside the leased tree', under, async ({ store }) => {
    const lease = await started(store, 'r')
    await store.create(row('other/a#1'), batch(1))
    await store.create(row('other'), batch(1))
    for (const run of ['other', 'other/a#1']) {
      await refused(store.append(lease, 1, batch(2, 1, { run })), 'LEASE_LOST', /run r .*run other/)
    }
    await refused(store.create(row('other/b#1'), batch(1), lease), 'LEASE_LOST', /run r .*run other/)
    await refused(store.append(lease, 1, batch(2, 1, { run: 'r/unknown#1' })), 'RUN_NOT_FOUND', /unknown/)
    assert.deepEqual(await seqsOf(store, 'other/a#1'), [1])
  })

  check('refuses to delete a held run, and deletes it once it is released', under, async ({ store }) => {
    const lease = await started(store, 'r', elsewhere('box1'))
    await refused(store.delete('r'), 'RUN_HELD', /box1/)
    await store.release(lease)
    await store.delete('r')
    assert.equal(await store.row('r'), undefined)
  })
}
