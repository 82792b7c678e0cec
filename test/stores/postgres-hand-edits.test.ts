// Hand edits of the tables with SQL: reported if the run cannot be restored, and repaired if its lines and messages
// suffice.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pg from 'pg'
import { postgresStore, currentOwner, type Store } from 'reprise/stores'
import { batch, message, refused, row, seqsOf, started } from '../../src/testing/store-contract/harness.ts'
import { freshSchema } from '../support/postgres/fresh-schema.ts'
import { without } from '../support/servers/shared-server.ts'

describe('PostgreSQL edited by hand', { skip: await without('postgres') }, () => {
  test('a head set back to before its lines accepts the next entry after the last of them', async () => {
    await using place = await edited()
    const lease = await started(place.store, 'r')
    await place.store.append(lease, 1, batch(2, 3))
    await place.sql(`update heads set seq = 2`)
    await place.store.append(lease, 4, batch(5))
    assert.deepEqual(await seqsOf(place.store, 'r'), [1, 2, 3, 4, 5])
    assert.equal((await place.store.lastNoted('r'))?.seq, 5)
  })

  test('a head that counts missing messages lets its run complete', async () => {
    await using place = await edited()
    const lease = await started(place.store, 'r')
    await place.store.create(row('r/a#1'), batch(1), lease)
    for (const run of ['r', 'r/a#1']) await place.store.post(run, message('m'))
    await place.sql(`delete from messages`)
    for (const run of ['r/a#1', 'r']) {
      const waiting = await place.store.append(lease, 1, { run, ...batch(2), row: row(run, { status: 'completed' }) })
      assert.equal(waiting, 0)
    }
  })

  test('a head that names another root is leased by its own', async () => {
    await using place = await edited()
    const lease = await started(place.store, 'r')
    await place.sql(`update heads set root = 'other'`)
    await place.store.append(lease, 1, batch(2))
    await place.store.release(lease)
    await place.sql(`update heads set root = 'other'`)
    await place.store.append(await place.store.acquire('r', currentOwner(), 60_000), 2, batch(3))
    assert.deepEqual(await seqsOf(place.store, 'r'), [1, 2, 3])
  })

  test('a run whose row was removed, or has no status, is named as damaged, and can be deleted', async () => {
    await using place = await edited()
    for (const run of ['a', 'b']) await place.store.release(await started(place.store, run))
    await place.sql(`delete from listing where run = 'a'; update listing set status = 'done'`)
    await refused(place.store.row('a'), 'JOURNAL_DAMAGED', /run a in .* has no row in listing/)
    await refused(place.store.row('b'), 'JOURNAL_DAMAGED', /run b in .* has the status "done"/)
    for (const run of ['a', 'b']) await place.store.delete(run)
    assert.deepEqual(await place.sql('select run from heads'), [])
    await started(place.store, 'a')
  })
})

interface Edited extends AsyncDisposable {
  readonly store: Store
  sql(text: string): Promise<unknown[]>
}

async function edited(): Promise<Edited> {
  await using stack = new AsyncDisposableStack()
  const own = stack.use(await freshSchema())
  const client = new pg.Client({ connectionString: own.url })
  await client.connect()
  stack.defer(() => client.end())
  await client.query(`set search_path = ${own.schema}`)
  const store = await postgresStore(own.url)
  stack.defer(() => store.close())
  const disposal = stack.move()
  return {
    store,
    sql: async (text) => (await client.query(text)).rows as unknown[],
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  }
}
