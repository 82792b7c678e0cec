// Connections to a server: what happens when something is lost, closed or too large, and how errors are reported.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import pg from 'pg'
import { postgresStore } from 'reprise/stores'
import { isAnswer, postgresError } from '../../src/stores/postgres/errors.ts'
import { openPool, type PostgresPool } from '../../src/stores/postgres/connection.ts'
import { readPostgresUrl } from '../../src/stores/postgres/url.ts'
import { openDatabase } from '../../src/stores/postgres/database.ts'
import { applyMigrations } from '../../src/stores/postgres/migrate.ts'
import { watchDatabase } from '../../src/stores/postgres/watch.ts'
import { refused, started } from '../../src/testing/store-contract/harness.ts'
import { freshSchema } from '../support/postgres/fresh-schema.ts'
import { without } from '../support/servers/shared-server.ts'
import { temporaryFolder } from './temporary-folder.ts'

test('an error of the system is a connection error, whatever its code looks like', () => {
  const broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
  assert.equal(isAnswer(broken), false)
  assert.equal(postgresError(broken, 'postgres://x', 'write').code, 'OUTCOME_UNKNOWN')
  assert.equal(postgresError(broken, 'postgres://x', 'read').code, 'STORE_UNAVAILABLE')
})

test('a host whose two addresses both refuse is reported with the reasons', () => {
  const reasons = ['connect ECONNREFUSED ::1:1', 'connect ECONNREFUSED 127.0.0.1:1'].map((words) => new Error(words))
  const error = Object.assign(new AggregateError(reasons), { code: 'ECONNREFUSED' })
  assert.match(
    postgresError(error, 'postgres://x', 'not sent').message,
    /\(connect .*::1:1, connect .*127\.0\.0\.1:1\)/,
  )
})

test('a server whose socket is missing is away, which has nothing to do with trust', async () => {
  await using folder = await temporaryFolder()
  const store = await postgresStore(`postgres:///x?host=${folder.path}`)
  try {
    await refused(store.row('r'), 'STORE_UNAVAILABLE', /ENOENT.*check that the server runs/)
  } finally {
    await store.close()
  }
})

test('a URL of something else than a server is refused without the password in it', async () => {
  for (const url of ['postgres:me:hunter2@x/y', 'postgres:/me:hunter2@x/y', 'postgres://me:hun/ter2@x/y'])
    await refused(postgresStore(url), 'STORE_INVALID', /^(?!.*ter2).*not the URL/)
})

test("options that aren't whole numbers are refused like those in the URL", async () => {
  for (const pool of [0, 1.5, Number.NaN])
    await refused(postgresStore('postgres://x/y', { pool }), 'STORE_INVALID', /pool is/)
  await refused(postgresStore('postgres://x/y', { statementTimeoutMs: 1e10 }), 'STORE_INVALID', /statement_timeout is/)
})

test('an option overrides the same one in the URL', () => {
  const text = 'postgres://x/y?schema=a&pool=2&statement_timeout=5&sslmode=disable'
  const read = readPostgresUrl(text, { schema: 'reprise', pool: 3, statementTimeoutMs: 7 })
  const url = 'postgres://x/y?sslmode=disable'
  const given = { schema: 'reprise', pool: 3, statementTimeoutMs: 7 }
  assert.deepEqual(read, { ...given, connectionString: url, displayUrl: url })
})

describe('connections to PostgreSQL', { skip: await without('postgres') }, () => {
  test('a close waits for calls that wait for a connection', async () => {
    await using own = await freshSchema()
    const store = await postgresStore(own.url, { pool: 1 })
    await started(store, 'r')
    const calls = Promise.all([store.row('r'), store.inbox('r'), store.row('s')])
    await store.close()
    const [found, messages, none] = await calls
    assert.deepEqual([found?.run, messages, none], ['r', [], undefined])
    await refused(store.row('r'), 'STORE_FAILED', /is closed/)
  })

  test('a close ends the listening connection, and no new one is made', async () => {
    await using opened = await openedPool()
    const session = await opened.pool.session()
    assert.ok(session)
    const ended = once(session, 'end')
    const connecting = opened.pool.session()
    await Promise.all([opened.pool.close(), refused(connecting, 'STORE_FAILED', /is closed/)])
    await ended
    await refused(opened.pool.session(), 'STORE_FAILED', /is closed/)
  })

  test("a watch that ends before the server's answer leaves no connection", async () => {
    await using opened = await openedPool()
    const database = await openDatabase(opened.pool, opened.schema, undefined)
    const over = new AbortController()
    const ended = Promise.withResolvers<void>()
    let sessions = 0
    const watchers = watchDatabase({
      ...database,
      async session() {
        const client = await database.session()
        sessions += 1
        client?.once('end', ended.resolve)
        return client && whenAsked(client, () => over.abort())
      },
    })
    watchers.watch('r', over.signal)
    await ended.promise
    assert.equal(sessions, 1, 'its connection has ended, and no other is made')
  })

  test('a connection lost while it starts to listen is replaced by one other', async (t) => {
    await using opened = await openedPool()
    const database = await openDatabase(opened.pool, opened.schema, undefined)
    const over = new AbortController()
    const lost = Promise.withResolvers<void>()
    let sessions = 0
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const watchers = watchDatabase({
      ...database,
      async session() {
        if (++sessions > 1) return new Promise(() => undefined)
        const client = await database.session()
        client?.once('end', lost.resolve)
        return client && whenAsked(client, () => streamOf(client).destroy())
      },
    })
    watchers.watch('r', over.signal)
    await lost.promise
    await new Promise(setImmediate)
    t.mock.timers.tick(60_000)
    await new Promise(setImmediate)
    assert.equal(sessions, 2)
    over.abort()
  })

  test('a listening connection that is silently dead is detected', async (t) => {
    await using opened = await openedPool()
    const database = await openDatabase(opened.pool, opened.schema, undefined)
    const over = new AbortController()
    const ended = Promise.withResolvers<void>()
    t.mock.timers.enable({ apis: ['setInterval'] })
    const watchers = watchDatabase({
      ...database,
      async session() {
        const client = await database.session()
        client?.once('end', ended.resolve)
        return client && whenAsked(client, () => mute(client))
      },
    })
    await watchers.watch('r', over.signal)[Symbol.asyncIterator]().next()
    t.mock.timers.tick(30_000)
    await ended.promise
    over.abort()
  })

  test('a statement with more than can be read back is refused before it is sent', async () => {
    await using opened = await openedPool()
    const large = Buffer.alloc(256_000_001)
    await refused(opened.pool.write('select length($1::bytea)', [large]), 'STORE_FAILED', /256000001 bytes/)
    assert.deepEqual(await opened.pool.read('select 1 as one'), [{ one: 1 }])
  })

  test('statements see what others have committed, whatever isolation the database defaults to', async () => {
    await using opened = await openedPool('-c default_transaction_isolation=serializable')
    const ask = 'show transaction_isolation'
    const committed = [{ transaction_isolation: 'read committed' }]
    assert.deepEqual(await opened.pool.read(ask), committed)
    assert.deepEqual(await opened.pool.transaction(({ query }) => query(ask)), committed)
  })

  test('a transaction whose statement gets no answer is abandoned at once', async (t) => {
    await using opened = await openedPool()
    await using lock = await lockOf(opened.url, 'select pg_advisory_lock(4, 15)')
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const waiting = opened.pool.transaction(async ({ query }) => {
      await query('set local statement_timeout = 0')
      return query('select pg_advisory_xact_lock(4, 15)')
    })
    await lock.awaited()
    t.mock.timers.tick(60_000)
    await refused(waiting, 'OUTCOME_UNKNOWN', /timeout/)
  })

  test('a migration has no time limit', async (t) => {
    await using opened = await openedPool()
    await using lock = await lockOf(
      opened.url,
      `select pg_advisory_lock(hashtext('reprise migrations'), hashtext('${opened.schema}')); delete from ${opened.schema}.reprise_migrations`,
    )
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const applying = applyMigrations(opened.pool, opened.schema)
    await lock.awaited()
    t.mock.timers.tick(600_000)
    await lock.client.query(`drop schema ${opened.schema} cascade`)
    await lock.client.query('select pg_advisory_unlock_all()')
    assert.notEqual((await applying).length, 0)
  })
})

interface OpenedPool extends AsyncDisposable {
  readonly pool: PostgresPool
  readonly url: string
  readonly schema: string
}

async function openedPool(options?: string): Promise<OpenedPool> {
  const own = await freshSchema()
  const url = new URL(own.url)
  if (options !== undefined) url.searchParams.set('options', options)
  const made = await openPool(readPostgresUrl(url.href))
  return {
    ...own,
    pool: made,
    async [Symbol.asyncDispose]() {
      await made.close()
      await own[Symbol.asyncDispose]()
    },
  }
}

interface Lock extends AsyncDisposable {
  readonly client: pg.Client
  /** Resolves once a caller waits. */
  awaited(): Promise<void>
}

async function lockOf(url: string, sql: string): Promise<Lock> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(sql)
  return {
    client,
    async awaited() {
      const isAwaited = `select 1 from pg_locks w join pg_locks g using (locktype, database, classid, objid, objsubid)
        where g.locktype = 'advisory' and g.granted and g.pid = pg_backend_pid() and not w.granted`
      for (;;) if ((await client.query(isAwaited)).rows.length > 0) return
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}

/** Does something when it has sent its next statement. Unlike others that listen, it keeps the process alive. */
function whenAsked(client: pg.Client, act: () => void): pg.Client {
  ;(client as unknown as { ref(): void }).ref()
  const ask = client.query.bind(client) as (text: string) => Promise<unknown>
  const asked = (text: string): Promise<unknown> => {
    const answer = ask(text)
    setImmediate(act)
    return answer
  }
  return Object.assign(client, { query: asked })
}

/** As one from which no answer comes in time. */
function mute(client: pg.Client): void {
  Object.assign(client, { query: () => Promise.reject(new Error('Query read timeout')) })
}

function streamOf(client: pg.Client): { destroy(): void } {
  return (client as unknown as { readonly connection: { readonly stream: { destroy(): void } } }).connection.stream
}
