// A shard that is away: what needs it fails, and nothing else does.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Crew, Task } from 'reprise'
import { shardedStore, thisOwner } from 'reprise/stores'
import {
  batch,
  claimed,
  lane,
  linesOf,
  refused,
  row,
  started,
  ttlMs,
} from '../../../src/testing/store-contract/harness.ts'
import { leaseKeeper, requestLease } from '../../../src/engine/lease/lease-keeper.ts'
import { realWorld } from '../../../src/engine/world.ts'
import { places, runsAtHomeIn } from './shards-under-test.ts'

async function scene() {
  const shards = places('a', 'b')
  const store = await shardedStore(shards)
  const [a, b] = shards
  const [here = '', next = ''] = await runsAtHomeIn(a, shards, 2)
  const [there = '', later = ''] = await runsAtHomeIn(b, shards, 2)
  return { store, a, b, here, next, there, later }
}

test('makes, reads, continues and deletes runs of the other shards', async () => {
  const { store, b, here, next } = await scene()
  const lease = await started(store, here)
  b.away = true
  await store.append(lease, 1, batch(2))
  assert.equal((await linesOf(store, here)).length, 2)
  assert.deepEqual(await store.list({ root: here }, { limit: 10 }), { rows: [row(here)] })
  await store.release(lease)
  await store.delete(here)
  assert.ok((await store.create(row(next), batch(1))).created)
})

test('rejects what needs it: its own runs, a listing of all, an output of any', async () => {
  const { store, b, there, later } = await scene()
  const lease = await started(store, there)
  b.away = true
  for (const call of [
    () => store.append(lease, 1, batch(2)),
    () => store.row(there),
    () => linesOf(store, there),
    () => store.create(row(later), batch(1)),
    () => store.list({}, { limit: 10 }),
    () => store.findOutput('claims', 'facts', 'f'),
    () => store.renew([lease], ttlMs),
  ])
    await refused(call(), 'STORE_UNAVAILABLE')
  b.away = false
  await store.append(lease, 1, batch(2))
})

test('goes on claiming from the others, and from it once it answers again', async () => {
  const { store, a, b, here, next, there } = await scene()
  for (const run of [here, next, there]) await store.create(row(run), batch(1, 1, { due: 'now' }))
  b.away = true
  assert.deepEqual((await claimed(store)).toSorted(), [here, next].toSorted())
  assert.deepEqual(await store.ready([lane], 10), [])
  b.away = false
  const found: string[] = []
  for (let tries = 0; tries < 10 && found.length === 0; tries++) found.push(...(await claimed(store)))
  assert.deepEqual(found, [there])
  a.away = b.away = true
  await refused(claimed(store), 'STORE_UNAVAILABLE')
  await refused(claimed(store), 'STORE_UNAVAILABLE', /no shard answers: memory:\w and memory:\w/)
})

test('claims one run of the others, and says of one of its own that it is away, until it answers again', async () => {
  const { store, b, here, next, there } = await scene()
  for (const run of [here, next, there]) await store.create(row(run), batch(1, 1, { due: 'now' }))
  const claimOnly = (only: string): Promise<string[]> => claimed(store, 10, thisOwner(), [lane], { only })
  b.away = true
  await refused(claimOnly(there), 'STORE_UNAVAILABLE')
  assert.deepEqual(await claimOnly(here), [here])
  assert.deepEqual(
    (await store.ready([lane], 10)).map(({ run }) => run),
    [next],
  )
  b.away = false
  assert.deepEqual(await claimOnly(there), [there])
})

test('does not ask a shard again that hangs while the others have runs', async () => {
  const { store, b, here, next } = await scene()
  b.away = true
  await claimed(store)
  b.away = false
  // it takes a connection, and answers nothing
  b.now = () => new Promise(() => {})
  b.claim = () => new Promise(() => {})
  for (const run of [here, next]) {
    await store.create(row(run), batch(1, 1, { due: 'now' }))
    assert.deepEqual(await claimed(store), [run])
  }
})

test('renews the leases of the others, and says of its own that they are neither renewed nor lost', async () => {
  const { store, b, here, there } = await scene()
  const leases = [await started(store, there), await started(store, here)]
  b.away = true
  assert.deepEqual(await store.renew(leases, ttlMs), [
    { lease: leases[0], waiting: 0, away: true },
    { lease: leases[1], waiting: 0 },
  ])
})

test('a process that holds runs of both loses none, and waits only with those of the shard that is away', async () => {
  const { store, b, here, there } = await scene()
  let passed = 0
  const real = realWorld()
  const world = {
    ...real,
    monotonic: () => passed,
    now: () => new Date(passed),
    sleep: async () => void (b.away = false),
  }
  const keeper = leaseKeeper(store, world)
  const lost: string[] = []
  const keep = async (run: string) => {
    const lease = await requestLease(world, () => started(store, run))
    return keeper.keep(lease, { lost: () => void lost.push(run), waiting: () => {} })
  }
  const [own, others] = [await keep(there), await keep(here)]
  b.away = true
  passed = world.leaseMs - 1
  const { signal } = new AbortController()
  await others.ready(signal)
  assert.equal(b.away, true)
  // it comes back while this waits
  await own.ready(signal)
  assert.equal(b.away, false)
  assert.deepEqual(lost, [])
  for (const kept of [own, others]) kept.stop()
})

test('its clock is that of the next shard while the first is away', async () => {
  const { store, a, b } = await scene()
  for (const shard of [a, b]) {
    shard.away = true
    assert.ok(Math.abs((await store.now()) - Date.now()) < 1_000)
    shard.away = false
  }
})

test('a crew ends its runs of the other shards', async () => {
  const shards = places('a', 'b')
  const store = await shardedStore(shards)
  const crew = new Crew({ name: 'counting', tasks: [new Task({ name: 'one', run: () => 1 })], store })
  const [here = ''] = await runsAtHomeIn(shards[0], shards, 1)
  const [there = ''] = await runsAtHomeIn(shards[1], shards, 1)
  shards[1].away = true
  const { status } = await crew.kickoff({ id: here })
  assert.equal(status, 'completed')
  shards[1].away = false
  assert.equal((await crew.kickoff({ id: there })).status, 'completed')
  assert.deepEqual(await store.claim(thisOwner(), ttlMs, [lane], { limit: 1 }), [])
})
