// Telling a schema of more shards while runs are made in it, statement by statement.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { postgresStore } from 'reprise/stores'
import { batch, refused, row } from '../../../src/testing/store-contract/harness.ts'
import { freshSchema } from '../../support/postgres/fresh-schema.ts'
import { without } from '../../support/servers/shared-server.ts'

const members = ['a', 'b'].map((id) => ({ id, url: `memory:${id}` }))

async function scene() {
  const place = await freshSchema()
  const client = new pg.Client({ connectionString: place.url })
  await client.connect()
  const store = await postgresStore(place.url)
  return {
    store,
    client,
    schema: place.schema,
    /** Until somebody waits for a lock of ours, or is done without it. */
    async isWaitedFor(call: Promise<unknown>): Promise<boolean> {
      let isDone = false
      void call.catch(() => {}).finally(() => (isDone = true))
      for (;;) {
        const { rows } = await client.query(
          'select 1 from pg_stat_activity where $1 = any (pg_blocking_pids(pid)::int[])',
          [(client as unknown as { processID: number }).processID],
        )
        if (rows.length > 0 || isDone) return rows.length > 0
        await wait(5)
      }
    },
    async [Symbol.asyncDispose]() {
      await store.close()
      await client.end()
      await place[Symbol.asyncDispose]()
    },
  }
}

describe('a schema of PostgreSQL that is told of more shards', { skip: await without('postgres') }, () => {
  test('waits for a run that is being made, and knows that it has one', async () => {
    await using place = await scene()
    const { store, client, schema } = place
    await client.query('begin')
    await client.query(
      `insert into ${schema}.heads (run, root, seq, status, crew, version, format, priority)
       values ('r', 'r', 1, 'running', 'claims', '1', 1, 0)`,
    )
    const joining = store.shards({ id: 'a', members })
    assert.equal(await place.isWaitedFor(joining), true)
    await client.query('commit')
    assert.deepEqual((await joining)?.founders, ['a'])
  })

  test('refuses a run that came while it was told, and had to wait for that', async () => {
    await using place = await scene()
    const { store, client, schema } = place
    await store.create(row('before'), batch(1))
    await client.query('begin')
    await client.query(`lock table ${schema}.heads in share mode`)
    await client.query(
      `insert into ${schema}.shards (id, url, self, founder) values ('a', 'memory:a', true, true), ('b', 'memory:b', false, true)`,
    )
    const creating = store.create(row('r'), batch(1))
    assert.equal(await place.isWaitedFor(creating), true)
    await client.query('commit')
    await refused(creating, 'STORE_INVALID', /memory:b/)
    assert.equal(await store.row('r'), undefined)
  })
})
