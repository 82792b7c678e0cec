// Which stores make one together, and who may make runs in them.
import assert from 'node:assert/strict'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { memoryStore, openStore, shardedStore, sqliteStore, type Store } from 'reprise/stores'
import { batch, refused, row, started } from '../../../src/testing/store-contract/harness.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { holdersOf, places, runsAtHomeIn } from './shards-under-test.ts'

const ids = Array.from({ length: 60 }, (_, index) => `run-${index}`)

test('spreads runs over all shards, and keeps a run with everything that works for it in one', async () => {
  const stores = places('a', 'b', 'c')
  const store = await shardedStore(stores)
  for (const id of ids) {
    const lease = await started(store, id)
    await store.create(row(`${id}/settle#1`), batch(1), lease)
  }
  for (const each of stores) {
    const { rows } = await each.list({}, { limit: 200 })
    assert.ok(rows.length >= 2 * 5, `${each.url} has ${rows.length} of ${2 * ids.length} runs`)
  }
  for (const id of ids) assert.deepEqual(await holdersOf(stores, `${id}/settle#1`), await holdersOf(stores, id))
})

test('finds every run whatever the order of the list', async () => {
  const [a, b, c] = places('a', 'b', 'c')
  const first = await shardedStore([a, b, c])
  for (const id of ids) await first.create(row(id), batch(1))
  const second = await shardedStore([c, a, b])
  for (const id of ids) assert.deepEqual(await second.row(id), row(id))
  assert.equal(second.url, first.url)
})

test('finds the runs of a store that has moved to another place', async () => {
  await using folder = await temporaryFolder()
  const at = (name: string): string => `sqlite:${join(folder.path, name)}`
  const before = await shardedStore([at('a.db'), at('b.db')])
  for (const id of ids) await before.create(row(id), batch(1))
  await before.close()
  await copyFile(join(folder.path, 'b.db'), join(folder.path, 'moved.db'))
  const after = await shardedStore([at('moved.db'), at('a.db')])
  for (const id of ids) assert.deepEqual(await after.row(id), row(id))
  assert.ok((await after.create(row('new'), batch(1))).created)
  await after.close()
})

test('refuses a store that is there twice, also as a copy of itself', async () => {
  await using folder = await temporaryFolder()
  const [path, copy] = [join(folder.path, 'a.db'), join(folder.path, 'copy.db')]
  await refused(shardedStore([`sqlite:${path}`, `sqlite:${path}`]), 'STORE_INVALID', /a\.db and .*a\.db are one store/)
  await copyFile(path, copy)
  await refused(shardedStore([`sqlite:${path}`, `sqlite:${copy}`]), 'STORE_INVALID', /one is a copy/)
})

test('refuses a list that neither has all shards nor is a part of them, and names both', async () => {
  const [a, b, c, d] = places('a', 'b', 'c', 'd')
  await shardedStore([a, b])
  await refused(
    shardedStore([a, c]),
    'STORE_INVALID',
    /over memory:\w and memory:\w.*memory:(a and memory:c|c and memory:a)/,
  )
  await shardedStore([c, d])
  await refused(shardedStore([a, b, c, d]), 'STORE_INVALID', /others over/)
  assert.equal((await a.shards())?.members.length, 2)
  assert.equal((await c.shards())?.members.length, 2)
})

test('refuses to add a store that has runs of its own, and takes one that had them before there were others', async () => {
  const [a, b, c] = places('a', 'b', 'c')
  for (const id of ids) await a.create(row(id), batch(1))
  const store = await shardedStore([a, b])
  for (const id of ids) assert.deepEqual(await store.create(row(id), batch(1)), { created: false })
  await c.create(row('run-1'), batch(1))
  await refused(shardedStore([a, b, c]), 'STORE_INVALID', /memory:c has runs already.*copyRuns/)
  const [d, e] = places('d', 'e')
  for (const each of [d, e]) await each.create(row('r'), batch(1))
  await refused(shardedStore([d, e]), 'STORE_INVALID', /memory:\w and memory:\w have runs already/)
})

test('makes no run through a list that lacks a shard, and names what is missing', async () => {
  const [a, b, c] = places('a', 'b', 'c')
  const old = await shardedStore([a, b])
  const kept = await started(old, 'kept')
  await shardedStore([a, b, c])
  const late = await shardedStore([a, b])
  for (const outdated of [old, late, a]) {
    await refused(outdated.create(row('new'), batch(1)), 'STORE_INVALID', /memory:c.*give them all/)
    assert.equal(await outdated.row('new'), undefined)
  }
  // what it has begun it may end
  await old.append(kept, 1, batch(2))
  assert.deepEqual(await late.create(row('kept'), batch(1)), { created: false })
  assert.deepEqual(await old.create(row('kept/settle#1'), batch(1), kept), { created: true, lease: kept })
})

test('makes no run through a list that lacks a shard, also in a store that was not told of it yet', async () => {
  const stores = places('a', 'b', 'c')
  const [a, b] = stores
  for (const each of stores) await shardedStore([each])
  const members = await Promise.all(
    stores.map(async (each) => ({ id: (await each.shards())?.id ?? '', url: each.url })),
  )
  // as a process does that is killed after the first
  await a.shards({ id: '', members })
  const [there = ''] = await runsAtHomeIn(b, [a, b], 1)
  const store = await shardedStore([a, b])
  await refused(store.create(row(there), batch(1)), 'STORE_INVALID', /memory:c/)
  const whole = await shardedStore(stores)
  assert.ok((await whole.create(row(there), batch(1))).created)
})

test('says of a run that is in an older place that it was not made', async () => {
  const [a, b, c] = places('a', 'b', 'c')
  const old = await shardedStore([a, b])
  for (const id of ids) await started(old, id)
  const store = await shardedStore([a, b, c])
  const [moved = ''] = await runsAtHomeIn(c, [a, b, c], 1)
  assert.ok(ids.includes(moved))
  for (const id of ids) assert.deepEqual(await store.create(row(id), batch(1)), { created: false })
  assert.deepEqual((await c.list({}, { limit: 1 })).rows, [])
})

test('makes a run anew in its home when it was deleted from an older place, for those who remember that, too', async () => {
  const [a, b, c] = places('a', 'b', 'c')
  const old = await shardedStore([a, b])
  for (const id of ids) await old.create(row(id), batch(1))
  const [store, other] = [await shardedStore([a, b, c]), await shardedStore([a, b, c])]
  for (const id of ids) assert.ok(await other.row(id))
  for (const id of ids) {
    await store.delete(id)
    assert.ok((await store.create(row(id, { crew: 'again' }), batch(1))).created)
    assert.equal((await other.row(id))?.crew, 'again')
    await other.delete(id)
    assert.deepEqual(await holdersOf([a, b, c], id), [])
  }
})

test('does not make a root whose parts were left in an older place, until they are deleted', async () => {
  const [a, b, c] = places('a', 'b', 'c')
  const old = await shardedStore([a, b])
  for (const id of ids) await old.create(row(`${id}/settle#1`), batch(1))
  const store = await shardedStore([a, b, c])
  const [moved = ''] = await runsAtHomeIn(c, [a, b, c], 1)
  assert.deepEqual(await store.row(`${moved}/settle#1`), row(`${moved}/settle#1`))
  await refused(store.create(row(moved), batch(1)), 'STORE_FAILED', /still has runs that work for it/)
  await store.delete(moved)
  assert.ok((await store.create(row(moved), batch(1))).created)
  assert.deepEqual(await holdersOf([a, b, c], moved), ['memory:c'])
})

test('closes the stores that it has opened when one cannot be opened', async () => {
  await using folder = await temporaryFolder()
  let closed = 0
  const [inner] = places('a')
  const first = { ...inner, close: async () => void closed++ }
  await refused(shardedStore([first, 'nonsense:']), 'STORE_INVALID', /nonsense/)
  await refused(shardedStore([first, first]), 'STORE_INVALID', /one store/)
  assert.equal(closed, 3)
  const store = await sqliteStore(join(folder.path, 'a.db'))
  const both = await shardedStore([first, store])
  await both.close()
  assert.equal(closed, 4)
  await refused(store.row('r'), 'STORE_FAILED', /closed/)
})

test('opens by a URL, in any order the same store, and never shows a password', async () => {
  await using folder = await temporaryFolder()
  const at = (name: string): string => `sqlite:${join(folder.path, name)}`
  const store = await openStore(`sharded:${at('a%2Cb.db')}, ${at('c.db')}`)
  assert.equal(store.url, `sharded:${at('a%2Cb.db')},${at('c.db')}`)
  await store.create(row('r'), batch(1))
  await store.close()
  const again = await openStore(`sharded:${store.url.slice('sharded:'.length).split(',').toReversed().join()}`)
  assert.deepEqual(await again.row('r'), row('r'))
  await again.close()
  await refused(openStore('sharded:'), 'STORE_INVALID', /a URL is empty.*%2C/)
  await refused(openStore('sharded:memory:,sharded:memory:'), 'STORE_INVALID', /sharded: itself/)
  await refused(openStore('sharded:,postgres://me:secret@h/d'), 'STORE_INVALID', /^(?!.*secret)/)
  await refused(openStore('sharded:memory:,mysql://me:secret@h/d'), 'STORE_INVALID', /^(?!.*secret)/)
})

test('refuses a sharded store as a shard', async () => {
  const [a, b, c] = places('a', 'b', 'c')
  const store = await shardedStore([a, b])
  await refused(shardedStore([store, c]), 'STORE_INVALID', /cannot be a shard itself/)
  await refused(shardedStore([]), 'STORE_INVALID', /no shards/)
})

test('a store of several says what its shards are cautious about, and which', async () => {
  const shard = (url: string, caution?: string): Store => ({ ...memoryStore({ url }), ...(caution && { caution }) })
  const careful = await shardedStore([shard('memory:a'), shard('memory:b', 'a crash may lose steps')])
  assert.equal(careful.caution, 'memory:b: a crash may lose steps')
  await careful.close()
  const sure = await shardedStore([shard('memory:a'), shard('memory:b')])
  assert.equal(sure.caution, undefined)
  await sure.close()
})
