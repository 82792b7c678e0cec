import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryStore, currentOwner } from 'reprise/stores'
import { faultyStore, jumpingClock, onNthCall, delayed } from 'reprise/testing'
import { batch, linesOf, refused, row, seqsOf, started, ttlMs } from '../../src/testing/store-contract/harness.ts'

test('a call that is unavailable does nothing, and the next one works', async () => {
  const inner = memoryStore()
  const store = faultyStore(inner, onNthCall('append', 1, 'unavailable'))
  const lease = await started(store, 'r')
  await refused(store.append(lease, 1, batch(2)), 'STORE_UNAVAILABLE', /at its call 2 \(append\)/)
  assert.deepEqual(await seqsOf(inner, 'r'), [1])
  await store.append(lease, 1, batch(2))
  assert.deepEqual(await seqsOf(inner, 'r'), [1, 2])
})

test('a write whose reply is lost is done, with an unknown outcome', async () => {
  const inner = memoryStore()
  const store = faultyStore(inner, onNthCall('append', 2, 'reply lost'))
  const lease = await started(store, 'r')
  await store.append(lease, 1, batch(2))
  await refused(store.append(lease, 2, batch(3)), 'OUTCOME_UNKNOWN', /lost its reply/)
  assert.deepEqual(await seqsOf(inner, 'r'), [1, 2, 3])
})

test('a read whose reply is lost ends after its first line, and any other call is unavailable', async () => {
  const store = faultyStore(memoryStore(), ({ nth }) => (nth === 2 ? 'reply lost' : undefined))
  const lease = await started(store, 'r')
  await store.append(lease, 1, batch(2, 2))
  assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 3])
  const read: number[] = []
  const reading = async (): Promise<void> => {
    for await (const { seq } of store.read('r')) read.push(seq)
  }
  await refused(reading(), 'STORE_UNAVAILABLE')
  assert.deepEqual(read, [1])
  await store.row('r')
  await refused(store.row('r'), 'STORE_UNAVAILABLE')
})

test('a store that is away answers no call until it is back', async () => {
  const store = faultyStore(memoryStore())
  const lease = await started(store, 'r')
  store.away = true
  await refused(store.append(lease, 1, batch(2)), 'STORE_UNAVAILABLE')
  await refused(linesOf(store, 'r'), 'STORE_UNAVAILABLE')
  await refused(Array.fromAsync(store.watch('r', new AbortController().signal)), 'STORE_UNAVAILABLE')
  store.away = false
  await store.append(lease, 1, batch(2))
  assert.deepEqual(store.calls, ['create', 'append', 'read', 'watch', 'append'])
})

for (const name of ['append', 'inbox'] as const) {
  test(`a lease that is lost before ${name} was taken by another owner and is free again`, async () => {
    const store = faultyStore(memoryStore(), onNthCall(name, 1, 'lease lost'))
    const lease = await started(store, 'r')
    await store.inbox('r')
    await refused(store.append(lease, 1, batch(2)), 'LEASE_LOST')
    assert.equal(await store.holder('r'), undefined)
    await store.append(await store.acquire('r', currentOwner(), ttlMs), 1, batch(2))
  })
}

test('a lease without a holder cannot be lost', async () => {
  const store = faultyStore(memoryStore(), onNthCall('row', 1, 'lease lost'))
  await store.create(row('r'), batch(1))
  await assert.rejects(store.row('r'), /call 2 \(row\), has no lease to lose/)
})

test('a function is awaited before the call, which rejects with what it throws', async () => {
  const clock = jumpingClock()
  const happened: string[] = []
  const store = faultyStore(memoryStore({ now: clock.now }), ({ name, args }) => {
    if (name === 'holder') return () => clock.jump(ttlMs)
    if (name === 'row') return delayed(1)
    if (name !== 'inbox') return undefined
    return () => {
      happened.push(String(args[0]))
      throw new Error('the cable is cut')
    }
  })
  await started(store, 'r')
  assert.equal(await store.holder('r'), undefined, 'the lease has expired')
  assert.equal((await store.row('r'))?.run, 'r')
  await assert.rejects(store.inbox('r'), /the cable is cut/)
  assert.deepEqual(happened, ['r'])
})
