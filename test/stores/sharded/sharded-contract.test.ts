// The contract of stores over two shards of each kind; over servers, whose own contract is tested elsewhere, in whole only with --full.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { memoryStore, shardedStore, type Store } from 'reprise/stores'
import { storeContract, type Place, type StoreUnderTest } from '../../../src/testing/store-contract.ts'
import { isFull } from '../../support/full.ts'
import { kindsHere, storePlace, type StoreKind } from '../../support/store-place.ts'
import { mainParts } from '../main-parts.ts'
import { openWithClock } from '../open-with-clock.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const skip: NonNullable<StoreUnderTest['skip']> = {
  suspects: 'each shard gives one to an owner',
  shards: 'a store over shards is none itself',
  order: 'each shard offers its own runs in order, and which shard comes first changes from claim to claim',
  most: 'each shard keeps its part of the limit, since no database can count and lease in several (claims.test.ts)',
}

storeContract('sharded, over two memory stores', {
  open: ({ now }) => shardedStore([memoryStore({ now }), memoryStore({ now })]),
  skip,
})

await over('sqlite')
for (const kind of ['postgres', 'redis'] as const) await over(kind, isFull ? storeContract : mainParts)

async function over(kind: StoreKind, contract: typeof storeContract = storeContract): Promise<void> {
  const name = `sharded, over two stores of ${kind}`
  const [here] = await kindsHere(kind)
  if (here?.skip) return void test(`the contract of stores: ${name}`, { skip: here.skip })
  /** With the passwords, which no store says. */
  const urls = new Map<string, string[]>()
  const open = async (given: readonly string[], { now }: Place): Promise<Store> => {
    const store = await shardedStore(await Promise.all(given.map((url) => openWithClock(url, now))))
    urls.set(store.url, [...given])
    return store
  }
  contract(name, {
    async open(place) {
      const { path } = await temporaryFolder()
      place.onEnd(() => rm(path, { recursive: true, force: true }))
      const shards = [await storePlace(kind, join(path, 'a')), await storePlace(kind, join(path, 'b'))]
      for (const shard of shards) place.onEnd(async () => shard[Symbol.asyncDispose]())
      return open(
        shards.map(({ url }) => url),
        place,
      )
    },
    // in another order: nothing depends on it
    reopen: (closed, place) => open((urls.get(closed.url) ?? []).toReversed(), place),
    skip,
  })
}
