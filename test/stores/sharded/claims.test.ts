// Claiming from several shards: fairly, and within the limit of a crew.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shardedStore, thisOwner, type Store } from 'reprise/stores'
import {
  batch,
  claimed,
  elsewhere,
  lane,
  message,
  refused,
  row,
  ttlMs,
} from '../../../src/testing/store-contract/harness.ts'
import { holdersOf, places, runsAtHomeIn } from './shards-under-test.ts'

async function queue(store: Store, runs: readonly string[]): Promise<void> {
  for (const run of runs) await store.create(row(run, { status: 'queued' }), batch(1, 1, { due: 'now' }))
}

test('asks another shard first each time, so that one with many runs keeps none of another waiting', async () => {
  const shards = places('a', 'b', 'c')
  const store = await shardedStore(shards)
  for (const shard of shards) await queue(store, await runsAtHomeIn(shard, shards, 6))
  const from: string[] = []
  for (let claim = 0; claim < 6; claim++) {
    const [run = ''] = await claimed(store, 1)
    from.push(...(await holdersOf(shards, run)))
  }
  assert.deepEqual(from.slice(0, 3).toSorted(), ['memory:a', 'memory:b', 'memory:c'])
  assert.deepEqual(from.slice(3), from.slice(0, 3))
})

test('asks another shard first for each crew, also for who asks for two of them in turn', async () => {
  const shards = places('a', 'b')
  const store = await shardedStore(shards)
  const letters = { ...lane, crew: 'letters' }
  const runs = (await Promise.all(shards.map((shard) => runsAtHomeIn(shard, shards, 8)))).flat()
  for (const [index, run] of runs.entries())
    await store.create(row(run, { crew: index % 2 === 0 ? 'claims' : 'letters' }), batch(1, 1, { due: 'now' }))
  for (const crew of [lane, letters]) {
    const from = new Set<string>()
    for (let claim = 0; claim < 2; claim++) {
      for (const each of [lane, letters]) {
        const [run = ''] = await claimed(store, 1, thisOwner(), [each])
        if (each === crew) from.add((await holdersOf(shards, run))[0] ?? '')
      }
    }
    assert.deepEqual(from, new Set(['memory:a', 'memory:b']))
  }
})

test('takes what one shard lacks from the others, up to the limit', async () => {
  const shards = places('a', 'b')
  const store = await shardedStore(shards)
  await queue(store, await runsAtHomeIn(shards[0], shards, 3))
  await queue(store, await runsAtHomeIn(shards[1], shards, 4))
  assert.equal((await store.ready([lane], 100)).length, 7)
  assert.equal((await store.ready([lane], 5)).length, 5)
  assert.equal((await claimed(store, 5)).length, 5)
  assert.equal((await claimed(store, 5)).length, 2)
})

test('says what is ready in all shards, in one order', async () => {
  const shards = places('a', 'b')
  const store = await shardedStore(shards)
  const now = Date.now()
  const [first = '', low = '', old = ''] = await runsAtHomeIn(shards[0], shards, 3)
  const [urgent = '', next = '', last = ''] = await runsAtHomeIn(shards[1], shards, 3)
  for (const [run, priority, age] of [
    [last, -1, 1_000],
    [low, -1, 9_000],
    [next, 0, 3_000],
    [old, 0, 2_000],
    [first, 0, 4_000],
    [urgent, 1, 500],
  ] as const)
    await store.create(row(run, { priority }), batch(1, 1, { due: now - age }))
  const order = [urgent, first, next, old, low, last]
  for (const limit of [0, 1, 3, 5, Infinity]) {
    const found = await store.ready([lane, lane], limit)
    assert.deepEqual(
      found.map(({ run }) => run),
      order.slice(0, limit),
    )
  }
})

test('asks for one run only the shard that has it, also in an older place', async () => {
  const [a, b, c] = places('a', 'b', 'c')
  const old = await shardedStore([a, b])
  const runs = Array.from({ length: 20 }, (_, index) => `run-${index}`)
  await queue(old, runs)
  const store = await shardedStore([a, b, c])
  for (const run of [...runs, 'nobody', `${runs[0]}/a#1`]) {
    const before = [a, b, c].map(({ calls }) => calls.length)
    const isThere = runs.includes(run)
    const claims = claimed(store, 10, thisOwner(), [lane], { only: run })
    assert.deepEqual(await claims, isThere ? [run] : [])
    const asked = [a, b, c].filter(({ calls }, index) => calls.slice(before[index]).includes('claim'))
    assert.equal(asked.length, 1)
    if (isThere)
      assert.deepEqual(
        asked.map(({ url }) => url),
        await holdersOf([a, b, c], run),
      )
  }
})

test('finds the one run that is asked for where somebody else has made it again', async () => {
  const [a, b, c] = places('a', 'b', 'c')
  const runs = Array.from({ length: 20 }, (_, index) => `run-${index}`)
  await queue(await shardedStore([a, b]), runs)
  const [store, other] = [await shardedStore([a, b, c]), await shardedStore([a, b, c])]
  for (const lease of await store.claim(thisOwner(), ttlMs, [lane], { limit: 20 })) await store.release(lease)
  for (const run of runs) await other.delete(run)
  await queue(other, runs)
  for (const run of runs) assert.deepEqual(await claimed(store, 1, thisOwner(), [lane], { only: run }), [run])
})

test('keeps the part of its shard for the one run that is asked for', async () => {
  const shards = places('a', 'b')
  const store = await shardedStore(shards)
  const [first = '', second = ''] = await runsAtHomeIn(shards[0], shards, 2)
  const [third = ''] = await runsAtHomeIn(shards[1], shards, 1)
  await queue(store, [first, second, third])
  const claimOnly = (only: string): Promise<string[]> => claimed(store, 10, thisOwner(), [lane], { only, most: 2 })
  assert.deepEqual([await claimOnly(first), await claimOnly(second), await claimOnly(third)], [[first], [], [third]])
})

test('never goes over the limit of a crew by claims that are made at once, and keeps to its parts', async () => {
  const shards = places('a', 'b')
  const store = await shardedStore(shards)
  for (const shard of shards) await queue(store, await runsAtHomeIn(shard, shards, 20))
  const others = await Promise.all([1, 2, 3, 4].map(() => shardedStore(shards)))
  const claims = [store, ...others].map((each, index) =>
    claimed(each, 4, elsewhere(`box${index}`), [lane], { most: 7 }),
  )
  const runs = (await Promise.all(claims)).flat()
  assert.equal(runs.length, 7)
  const counts = await Promise.all(
    shards.map(async (shard) => (await Promise.all(runs.map((run) => shard.row(run)))).filter(Boolean).length),
  )
  assert.deepEqual(new Set(counts), new Set([3, 4]))
})

test('counts the runs that the claimer has in the shard that has them', async () => {
  const shards = places('a', 'b')
  const store = await shardedStore(shards)
  const [first = '', second = '', third = ''] = await runsAtHomeIn(shards[0], shards, 3)
  await queue(store, [first, second, third])
  await store.acquire(first, thisOwner(), -1)
  const room = { has: new Set([first]), most: 4 }
  assert.equal((await claimed(store, 10, thisOwner(), [lane], room)).length, 1)
})

test('refuses a limit that leaves a shard without a part, and says what to do', async () => {
  const store = await shardedStore(places('a', 'b', 'c'))
  await queue(store, ['r'])
  const claim = store.claim(thisOwner(), ttlMs, [lane], { limit: 1, most: 2 })
  await refused(claim, 'OPTION_INVALID', /at most 2 runs.*3 shards.*maxRuns of 3 or more.*store of its own/)
  assert.deepEqual(await claimed(store, 1, thisOwner(), [lane], { most: Infinity }), ['r'])
})

test('knows where a claimed run is without asking, also in an older place', async () => {
  const [a, b, c] = places('a', 'b', 'c')
  await queue(
    await shardedStore([a, b]),
    Array.from({ length: 40 }, (_, index) => `run-${index}`),
  )
  const store = await shardedStore([a, b, c])
  const leases = await store.claim(thisOwner(), ttlMs, [lane], { limit: 40 })
  assert.equal(leases.length, 40)
  const before = [a, b, c].map(({ calls }) => calls.length)
  for (const lease of leases) await store.append(lease, 1, batch(2))
  const after = [a, b, c].map(({ calls }) => calls.length)
  assert.equal(
    after.reduce((sum, count, index) => sum + count - (before[index] ?? 0), 0),
    40,
  )
})

test('wakes those who watch all runs, or one, for what happens in any shard', async () => {
  const [a, b, c] = places('a', 'b', 'c')
  const old = await shardedStore([a, b])
  const runs = await runsAtHomeIn(a, [a, b], 20)
  await queue(old, runs)
  const store = await shardedStore([a, b, c])
  for (const watched of [undefined, ...runs]) {
    const hints = store.watch(watched, new AbortController().signal, 'messages')[Symbol.asyncIterator]()
    assert.equal(await old.post(watched ?? runs[0] ?? '', message(`to ${watched}`)), 'posted')
    assert.equal((await hints.next()).done, false)
    await hints.return?.()
    assert.equal((await hints.next()).done, true)
  }
})

test('finds the newest output of all shards', async () => {
  const shards = places('a', 'b')
  const store = await shardedStore(shards)
  const output = { task: 'facts', fingerprint: 'f', seq: 1 }
  const [[old = ''], [young = '']] = [
    await runsAtHomeIn(shards[0], shards, 1),
    await runsAtHomeIn(shards[1], shards, 1),
  ]
  for (const [run, completedAt] of [
    [old, 1_000],
    [young, 2_000],
  ] as const)
    await store.create(row(run), batch(1, 1, { outputs: [{ ...output, completedAt }] }))
  assert.equal((await store.findOutput('claims', 'facts', 'f'))?.run, young)
  await store.delete(young)
  assert.equal((await store.findOutput('claims', 'facts', 'f'))?.run, old)
})
