// Leases: who may write, who may take over, and what waits for a worker.
import assert from 'node:assert/strict'
import { thisOwner } from '../../stores/owner.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import {
  batch,
  claim,
  deadOwner,
  elsewhere,
  refused,
  row,
  seqsOf,
  started,
  startOfTime,
  ttlMs,
  type StoreUnderTest,
} from './harness.ts'

const crews = [{ crew: 'claims', version: '1' }]

export function leaseContract(under: StoreUnderTest): void {
  claim('refuses a run that is held and names who holds it', under, async ({ store }) => {
    await started(store, 'r', elsewhere('box1'))
    await refused(store.acquire('r', thisOwner(), ttlMs), 'RUN_HELD', /process 4242 on host box1\.example/)
    assert.deepEqual(await store.holder('r'), elsewhere('box1'))
  })

  claim('refuses to lease an unknown run', under, async ({ store }) => {
    await refused(store.acquire('r', thisOwner(), ttlMs), 'RUN_NOT_FOUND', /\br\b/)
    assert.equal(await store.holder('r'), undefined)
  })

  claim('lets the same owner take its run again with a higher token', under, async ({ store }) => {
    const first = await started(store, 'r', elsewhere('box1'))
    const second = await store.acquire('r', elsewhere('box1'), ttlMs)
    assert.ok(second.token > first.token)
    assert.deepEqual(second, { run: 'r', token: second.token, owner: elsewhere('box1') })
  })

  claim('keeps threads and copies of the library in one process apart', under, async ({ store }) => {
    const lease = await started(store, 'r')
    const other = { ...thisOwner(), instance: 'another thread' }
    await refused(store.acquire('r', other, ttlMs), 'RUN_HELD')
    assert.deepEqual(await store.claim(other, ttlMs, crews, 10), [])
    await store.append(lease, 1, batch(2))
    await store.release(lease)
    assert.deepEqual((await store.acquire('r', other, ttlMs)).owner, other)
    await refused(store.acquire('r', thisOwner(), ttlMs), 'RUN_HELD')
  })

  claim(
    'takes over at once from a process of this machine that is gone',
    under,
    async ({ store }) => {
      const dead = await started(store, 'r', deadOwner())
      assert.equal(await store.holder('r'), undefined)
      const lease = await store.acquire('r', elsewhere('box1'), ttlMs)
      assert.ok(lease.token > dead.token)
      await refused(store.append(dead, 1, batch(2)), 'LEASE_LOST')
    },
    'takeover',
  )

  claim('gives a token higher than any before, also after a release or a deletion', under, async ({ store }) => {
    const first = await started(store, 'r')
    await store.release(first)
    const second = await store.acquire('r', elsewhere('a'), ttlMs)
    await store.release(second)
    await store.delete('r')
    const third = await started(store, 'r')
    assert.ok(first.token < second.token && second.token < third.token)
  })

  claim(
    'gives a run to another owner when the lease has expired, not a moment before',
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
    'clock',
  )

  claim(
    'keeps a renewed lease past its first expiry',
    under,
    async ({ store, pass }) => {
      const lease = await started(store, 'r', elsewhere('a'))
      pass(ttlMs - 1000)
      assert.deepEqual(await store.renew([lease], ttlMs), [lease])
      pass(ttlMs - 1000)
      await refused(store.acquire('r', elsewhere('b'), ttlMs), 'RUN_HELD')
    },
    'clock',
  )

  claim('renews those that are still held and gives back only them', under, async ({ store }) => {
    const kept = await started(store, 'kept')
    const released = await started(store, 'released')
    const lost = await started(store, 'lost')
    const deleted = await started(store, 'deleted')
    await store.release(released)
    await store.acquire('lost', thisOwner(), ttlMs)
    await store.release(deleted)
    await store.delete('deleted')
    assert.deepEqual(await store.renew([released, kept, lost, deleted], ttlMs), [kept])
    assert.deepEqual(await store.renew([], ttlMs), [])
  })

  claim('frees a run by its release, and ignores the release of a lost lease', under, async ({ store }) => {
    const first = await started(store, 'r')
    const second = await store.acquire('r', thisOwner(), ttlMs)
    await store.release(first)
    assert.deepEqual(await store.holder('r'), thisOwner())
    await store.release(second)
    await store.release(second)
    assert.equal(await store.holder('r'), undefined)
    await store.acquire('r', elsewhere('a'), ttlMs)
  })

  claim('gives a free run to one of many who ask at the same time', under, async ({ store }) => {
    await store.create(row('r'), batch(1))
    const asked = Array.from({ length: 8 }, (_, index) => store.acquire('r', elsewhere(`box${index}`), ttlMs))
    const results = await Promise.allSettled(asked)
    assert.equal(results.filter((result) => result.status === 'fulfilled').length, 1)
  })

  claim('claims what waits for a worker, oldest first', under, async ({ store }) => {
    await waitingRuns(store)
    const leases = await store.claim(thisOwner(), ttlMs, crews, 10)
    assert.deepEqual(
      leases.map((lease) => lease.run),
      ['queued', 'abandoned', 'answered'],
    )
    for (const lease of leases) await store.append(lease, 1, batch(2))
    assert.deepEqual(await seqsOf(store, 'queued'), [1, 2])
  })

  claim('claims no more than the limit, and nothing twice', under, async ({ store }) => {
    await waitingRuns(store)
    const first = await store.claim(thisOwner(), ttlMs, crews, 2)
    const second = await store.claim(thisOwner(), ttlMs, crews, 2)
    const third = await store.claim(elsewhere('a'), ttlMs, crews, 2)
    assert.deepEqual(
      [first, second, third].map((leases) => leases.map((lease) => lease.run)),
      [['queued', 'abandoned'], ['answered'], []],
    )
    assert.deepEqual(await store.claim(thisOwner(), ttlMs, crews, 0), [])
  })

  claim('claims for the crews and versions that are asked for', under, async ({ store }) => {
    await add(store, 'a1', { crew: 'a', version: '1', status: 'queued' }, 1)
    await add(store, 'a2', { crew: 'a', version: '2', status: 'queued' }, 2)
    await add(store, 'b1', { crew: 'b', version: '1', status: 'queued' }, 0)
    const wanted = [
      { crew: 'a', version: '2' },
      { crew: 'b', version: '1' },
    ]
    assert.deepEqual(await store.claim(thisOwner(), ttlMs, [], 10), [])
    const leases = await store.claim(thisOwner(), ttlMs, wanted, 10)
    assert.deepEqual(
      leases.map((lease) => lease.run),
      ['b1', 'a2'],
    )
  })

  claim('never gives one run to two callers', under, async ({ store }) => {
    const runs = Array.from({ length: 30 }, (_, index) => `r${index}`)
    for (const [index, run] of runs.entries()) await add(store, run, { status: 'queued' }, index)
    const claims = Array.from({ length: 10 }, (_, index) => store.claim(elsewhere(`box${index}`), ttlMs, crews, 4))
    const claimed = (await Promise.all(claims)).flat().map((lease) => lease.run)
    assert.deepEqual(claimed.toSorted(), runs.toSorted())
  })

  claim(
    'claims a running run from a process that is gone, and one whose lease has expired',
    under,
    async ({ store, pass }) => {
      await started(store, 'dead', deadOwner())
      assert.equal((await store.claim(thisOwner(), ttlMs, crews, 10)).length, 1)
      await started(store, 'expired', elsewhere('a'))
      assert.equal((await store.claim(elsewhere('b'), ttlMs, crews, 10)).length, 0)
      pass(ttlMs + 1)
      const leases = await store.claim(elsewhere('b'), ttlMs, crews, 10)
      assert.deepEqual(leases.map((lease) => lease.run).toSorted(), ['dead', 'expired'])
    },
    'clock',
  )

  claim('refuses to delete a run that is held, and deletes it once it is released', under, async ({ store }) => {
    const lease = await started(store, 'r', elsewhere('box1'))
    await refused(store.delete('r'), 'RUN_HELD', /box1/)
    await store.release(lease)
    await store.delete('r')
    assert.equal(await store.row('r'), undefined)
  })
}

async function waitingRuns(store: Store): Promise<void> {
  await add(store, 'answered', { status: 'suspended' }, 3)
  await add(store, 'abandoned', { status: 'running' }, 2)
  await add(store, 'queued', { status: 'queued' }, 1)
  await add(store, 'asleep', { status: 'suspended' }, 0)
  for (const status of ['completed', 'failed', 'cancelled'] as const) await add(store, status, { status }, 0)
  const { createdAt } = row('held', {})
  await store.create(row('held', { createdAt }), batch(1), { owner: elsewhere('box1'), ttlMs })
  await store.post('answered', { id: 'm', at: createdAt, body: '{}' })
}

async function add(store: Store, run: string, fields: Partial<RunRow>, second: number): Promise<void> {
  const createdAt = new Date(startOfTime + second * 1000).toISOString()
  await store.create(row(run, { ...fields, createdAt }), batch(1))
}
