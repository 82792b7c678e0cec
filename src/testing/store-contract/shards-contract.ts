// A store as one of several shards: which others it knows, and whom it lets make runs.
import assert from 'node:assert/strict'
import { encodeCursor } from '../../stores/rules/cursor.ts'
import type { Shard, Shards, Store } from '../../stores/store.ts'
import { batch, claim, elsewhere, refused, row, started, ttlMs, type StoreUnderTest } from './harness.ts'

export function shardsContract(under: StoreUnderTest): void {
  const shardClaim = (title: string, body: Parameters<typeof claim>[2]): void => claim(title, under, body, 'shards')

  shardClaim('is no shard until it is told so, and keeps the first id that it is given', async ({ store }) => {
    assert.equal(await store.shards(), undefined)
    const alone = { id: 'a', members: named('a'), founders: ['a'] }
    assert.deepEqual(await store.shards({ id: 'a', members: named('a') }), alone)
    assert.deepEqual(await store.shards({ id: 'b', members: named('b') }), alone)
    assert.deepEqual(await store.shards({ id: 'b', members: named('a', 'b') }), known('a', 'a', 'b'))
    assert.deepEqual(await store.shards(), known('a', 'a', 'b'))
  })

  shardClaim('notes more members, and stays as it is when one that it knows is missing', async ({ store }) => {
    await join(store, 'a', 'b')
    for (const members of [named('a'), named('a', 'c', 'd'), []])
      assert.deepEqual(await store.shards({ id: 'a', members }), known('a', 'a', 'b'))
    assert.deepEqual(await join(store, 'a', 'b', 'c'), known('a', 'a', 'b', 'c'))
    assert.deepEqual(await store.shards(), known('a', 'a', 'b', 'c'))
  })

  shardClaim('has as founders the members that it knew when it last had no run', async ({ store }) => {
    await join(store, 'a', 'b')
    await store.create(row('r'), batch(1), undefined, ['a', 'b'])
    assert.deepEqual((await join(store, 'a', 'b', 'c'))?.founders, ['a', 'b'])
    await store.delete('r')
    assert.deepEqual((await join(store, 'a', 'b', 'c', 'd'))?.founders, ['a', 'b', 'c', 'd'])
  })

  shardClaim('is its only founder when it had runs before it was a shard', async ({ store }) => {
    await store.create(row('r'), batch(1))
    assert.deepEqual((await join(store, 'a'))?.founders, ['a'])
    assert.deepEqual((await join(store, 'a', 'b'))?.founders, ['a'])
  })

  shardClaim('makes runs for whoever knows all shards, and for anybody while it is the only one', async ({ store }) => {
    await join(store, 'a')
    assert.ok((await store.create(row('alone'), batch(1))).created)
    await join(store, 'a', 'b')
    assert.ok((await store.create(row('r'), batch(1), undefined, ['a', 'b'])).created)
    assert.ok((await store.create(row('r2'), batch(1), undefined, ['c', 'b', 'a'])).created)
    const leased = await store.create(row('r3'), batch(1), { owner: elsewhere('box'), ttlMs }, ['a', 'b'])
    assert.equal(leased.lease?.run, 'r3')
  })

  shardClaim('makes no run for whoever knows fewer shards, and names those that are missing', async ({ store }) => {
    await join(store, 'a', 'b', 'c')
    const asked = { owner: elsewhere('box'), ttlMs }
    for (const shards of [undefined, [], ['a']])
      await refused(store.create(row('r'), batch(1), asked, shards), 'STORE_INVALID', /memory:b and memory:c/)
    await refused(store.create(row('r'), batch(1), undefined, ['a', 'b']), 'STORE_INVALID', /over memory:c;/)
    await refused(store.create(row('r/a#1'), batch(1), undefined, ['a', 'b']), 'STORE_INVALID', /over memory:c;/)
    assert.deepEqual((await store.list({}, { limit: 10 })).rows, [])
  })

  shardClaim('lets the holder of a root make runs that work for it, whatever it knows', async ({ store }) => {
    const lease = await started(store, 'r')
    await join(store, 'a', 'b')
    assert.deepEqual(await store.create(row('r/a#1'), batch(1), lease), { created: true, lease })
    await store.append(lease, 1, batch(2))
  })

  shardClaim('says of a run that is there already that it was not made, whatever the caller knows', async (scene) => {
    const { store } = scene
    await started(store, 'r')
    await join(store, 'a', 'b')
    assert.deepEqual(await store.create(row('r'), batch(1)), { created: false })
  })

  shardClaim('shows every run that was made by fewer shards once it has noted more', async ({ store }) => {
    const runs = Array.from({ length: 30 }, (_, index) => `r${index}`)
    const creating = runs.map((run) => store.create(row(run), batch(1)))
    const settled = Promise.allSettled(creating)
    await join(store, 'a', 'b')
    const { rows } = await store.list({}, { limit: 100 })
    const outcomes = await settled
    const made = runs.filter((_, index) => outcomes[index]?.status === 'fulfilled')
    assert.deepEqual(rows.map(({ run }) => run).toSorted(), made.toSorted())
    await refused(store.create(row('later'), batch(1)), 'STORE_INVALID')
  })

  claim(
    'knows the shards again when it is opened again',
    under,
    async ({ store, reopen }) => {
      await join(store, 'a', 'b')
      await store.close()
      const again = await reopen(store)
      assert.deepEqual(await again.shards(), known('a', 'a', 'b'))
      await refused(again.create(row('r'), batch(1)), 'STORE_INVALID')
    },
    under.skip?.shards === undefined ? 'reopen' : 'shards',
  )

  claim('lists from the place of a run that it does not have', under, async ({ store }) => {
    for (const run of ['a', 'c']) await store.create(row(run), batch(1))
    const before = encodeCursor({ createdAt: row('b').createdAt, run: 'b' })
    assert.deepEqual((await store.list({}, { limit: 10, before })).rows, [row('a')])
  })
}

function named(...ids: readonly string[]): Shard[] {
  return ids.map((id) => ({ id, url: `memory:${id}` }))
}

/** As a store keeps it that had no run when it was told. */
function known(id: string, ...members: readonly string[]): Shards {
  return { id, members: named(...members), founders: members }
}

/** The store is the first of them. */
function join(store: Store, id: string, ...others: readonly string[]): Promise<Shards | undefined> {
  return store.shards({ id, members: named(id, ...others) })
}
