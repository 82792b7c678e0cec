// The connection that receives notifications of other processes: one while watches exist, and none afterwards.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import pg from 'pg'
import { postgresStore } from 'reprise/stores'
import { cuttingProxy } from '../support/servers/cutting-proxy.ts'
import { freshSchema } from '../support/postgres/fresh-schema.ts'
import { without } from '../support/servers/shared-server.ts'

describe('watching PostgreSQL', { skip: await without('postgres') }, () => {
  test('no connection is left if watching ends while the server is about to listen', async () => {
    await using place = await watched()
    const sent = await place.firstHint()
    for (let round = 0; round < 5; round++) {
      const over = new AbortController()
      const before = place.proxy.sent()
      place.store.watch(undefined, over.signal)
      while (place.proxy.sent() < before + sent) await turn()
      over.abort()
      while ((await place.listening()) > 0) await turn()
      for (let turns = 0; turns < 20; turns++) await turn()
      assert.equal(await place.listening(), 0, 'it does not listen again')
    }
  })

  test('one connection is back after it was lost while the server was about to listen', async () => {
    await using place = await watched()
    const sent = await place.firstHint()
    place.proxy.cutAfter(sent - 1, 'with the reply lost')
    await place.firstHint(async () => assert.equal(await place.listening(), 1))
    assert.ok(place.proxy.wasCut())
  })
})

async function watched() {
  await using stack = new AsyncDisposableStack()
  const own = stack.use(await freshSchema())
  const proxy = stack.use(await cuttingProxy(own.url))
  const client = new pg.Client({ connectionString: own.url })
  await client.connect()
  stack.defer(() => client.end())
  const store = await postgresStore(proxy.url)
  stack.defer(() => store.close())
  const disposal = stack.move()
  /** How many connections of this schema listen. */
  async function listening(): Promise<number> {
    const { rows } = await client.query<{ count: string }>(
      `select count(*) from pg_stat_activity where query = 'listen "reprise:${own.schema}"'`,
    )
    return Number(rows[0]?.count)
  }
  return {
    store,
    proxy,
    listening,
    /** Watches until it is known that the server is listened to, and says how much was sent for that. */
    async firstHint(then?: () => Promise<void>): Promise<number> {
      const over = new AbortController()
      const before = proxy.sent()
      await store.watch(undefined, over.signal)[Symbol.asyncIterator]().next()
      const sent = proxy.sent() - before
      await then?.()
      over.abort()
      while ((await listening()) > 0) await turn()
      return sent
    },
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  }
}
