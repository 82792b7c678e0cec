import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { openStore, postgresStore, currentOwner } from 'reprise/stores'
import type { Append } from '../../src/stores/postgres/columns.ts'
import { appendStatements } from '../../src/stores/postgres/append.ts'
import { openPool } from '../../src/stores/postgres/connection.ts'
import { readPostgresUrl } from '../../src/stores/postgres/url.ts'
import { type Database, readySql } from '../../src/stores/postgres/database.ts'
import { claimSql, readyRunsSql } from '../../src/stores/postgres/claim.ts'
import { treeSql } from '../../src/stores/postgres/leases.ts'
import {
  applyMigrations,
  formatNumber,
  layoutBefore,
  pendingMigrations,
  printedMigrations,
} from '../../src/stores/postgres/migrate.ts'
import { migrations } from '../../src/stores/postgres/migrations.ts'
import type { Migration } from '../../src/stores/rules/driver.ts'
import { readyAt } from '../../src/stores/rules/ready.ts'
import {
  batch,
  elsewhere,
  lane,
  message,
  refused,
  row,
  seqsOf,
  started,
} from '../../src/testing/store-contract/harness.ts'
import { freshSchema } from '../support/postgres/fresh-schema.ts'
import { startServer } from '../support/servers/server.ts'
import { sharedServer, without } from '../support/servers/shared-server.ts'

describe('PostgreSQL', { skip: await without('postgres') }, () => {
  test('the SQL for ready runs agrees with the rule of all stores', async () => {
    await using own = await freshSchema()
    await using client = await connected(own.url)
    const time = fc.integer({ min: 0, max: 100_000 })
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          run: fc.string({ unit: 'grapheme', minLength: 1 }).filter((name) => !name.includes('\0')),
          status: fc.constantFrom('running', 'failed', 'completed', 'cancelled'),
          dueAt: fc.option(time),
          waiting: fc.integer({ min: 0, max: 2 }),
          tries: fc.integer({ min: 0, max: 12 }),
          expiresAt: fc.option(time),
          now: time,
        }),
        async ({ run, status, dueAt, waiting, tries, expiresAt, now }) => {
          const given = { run: '$7::text', status: '$1::text', dueAt: '$2::int8', waiting: '$3::int', tries: '$4::int' }
          const sql = readySql({ ...given, expiresAt: '$5::int8', now: '$6::int8' })
          const { rows } = await client.query<{ ready: string | null }>(`select ${sql} as ready`, [
            status,
            dueAt,
            waiting,
            tries,
            expiresAt,
            now,
            run,
          ])
          const ended = status === 'completed' || status === 'cancelled'
          const rule = {
            run,
            ended,
            dueAt: dueAt ?? undefined,
            messages: waiting,
            tries,
            expiresAt: expiresAt ?? undefined,
          }
          const ready = rows[0]?.ready ?? null
          assert.equal(ready === null ? undefined : Number(ready), readyAt(rule, now))
        },
      ),
      { numRuns: 200 },
    )
  })

  test('a failing append fails none of the others in its statement', async () => {
    await using own = await freshSchema()
    await using client = await connected(own.url)
    const store = await postgresStore(own.url)
    try {
      const leases = await Promise.all(['a', 'b', 'c', 'd'].map((run) => started(store, run)))
      // a line inserted by hand, with the number of the next entry
      await client.query(`insert into ${own.schema}.entries select id, 2, 'x' from ${own.schema}.heads where run = 'b'`)
      await store.release(leases[3] as never)
      const results = await Promise.allSettled(leases.map((lease) => store.append(lease, 1, batch(2))))
      assert.deepEqual(
        results.map((result) => (result.status === 'fulfilled' ? 'written' : (result.reason as { code: string }).code)),
        ['written', 'SEQ_CONFLICT', 'written', 'LEASE_LOST'],
      )
      for (const run of ['a', 'c']) assert.deepEqual(await seqsOf(store, run), [1, 2])
    } finally {
      await store.close()
    }
  })

  test('an append finds its runs by an index, with a plan made when the table was empty', async () => {
    const { url } = await sharedServer('postgres')
    const schema = `planned_${randomUUID().replaceAll('-', '')}`
    await using client = await connected(url)
    const store = await postgresStore(url, { schema })
    const statementFor = appendStatements({ schema, channel: schema, now: () => null } as Database)
    const append = (root: string, run = root): Append => {
      const lease = { run: root, token: 1, id: 'x', owner: currentOwner() }
      const outputs = [{ task: 't', fingerprint: 'f', seq: 2 }]
      return { lease, run, after: 1, batch: { ...batch(2, 2), row: row(run), outputs, taken: ['m'] } }
    }
    try {
      for (const group of [[append('a')], [append('a'), append('b')], [append('a', 'a/x#1'), append('b')]]) {
        const { text } = statementFor(group)
        const plan = await client.query<{ 'QUERY PLAN': string }>(`explain (generic_plan) ${text}`)
        const lines = plan.rows.map((line) => line['QUERY PLAN'])
        assert.deepEqual(
          lines.filter((line) => /Seq Scan on (heads|listing|messages)/.test(line)),
          [],
          lines.join('\n'),
        )
      }
    } finally {
      await store.close()
      await client.query(`drop schema ${schema} cascade`)
    }
  })

  test('a deletion finds its rows by indexes, however many other runs there are', async () => {
    await using own = await freshSchema()
    await using client = await connected(own.url)
    await client.query('set enable_seqscan = off')
    const plan = await client.query<{ 'QUERY PLAN': string }>(`explain (generic_plan) ${treeSql(own.schema)}`)
    const lines = plan.rows.map((line) => line['QUERY PLAN'])
    assert.ok(!lines.some((line) => line.includes('Seq Scan')), lines.join('\n'))
  })

  test('ready runs, and the one run of a claim, are found by indexes, however many runs are held', async () => {
    await using own = await freshSchema()
    await using client = await connected(own.url)
    const store = await postgresStore(own.url)
    try {
      await Promise.all(Array.from({ length: 500 }, (_, index) => started(store, `r${index}`, elsewhere('a'))))
      await client.query(`analyze ${own.schema}.heads`)
      for (const [text, index] of [
        [readyRunsSql(own.schema), 'heads_ready'],
        [claimSql(own.schema, 'only'), 'heads_by_run'],
        [claimSql(own.schema, 'any'), 'heads_suspect\\w*'],
      ] as const) {
        const plan = await client.query<{ 'QUERY PLAN': string }>(`explain (generic_plan) ${text}`)
        const lines = plan.rows.map((line) => line['QUERY PLAN']).join('\n')
        assert.match(lines, new RegExp(`Index (Only )?Scan using ${index} on heads`))
        assert.doesNotMatch(lines, /Seq Scan on heads/)
      }
    } finally {
      await store.close()
    }
  })

  test('a claim of one run waits for a transaction on it, where another claim skips it', async () => {
    await using own = await freshSchema()
    await using client = await connected(own.url)
    const store = await postgresStore(own.url)
    try {
      await store.create(row('r'), batch(1, 1, { due: 'now' }))
      await client.query(`begin; update ${own.schema}.heads set hash = hash where run = 'r'`)
      const room = { limit: 1 }
      assert.deepEqual(await store.claim(currentOwner(), 60_000, [lane], room), [])
      const asked = store.claim(currentOwner(), 60_000, [lane], { ...room, runId: 'r' })
      await someoneWaits(client, asked)
      await client.query('commit')
      assert.deepEqual(
        (await asked).map(({ run }) => run),
        ['r'],
      )
    } finally {
      await store.close()
    }
  })

  test('many simultaneous appends to the runs of one tree and of others are all written', async () => {
    await using own = await freshSchema()
    const store = await postgresStore(own.url)
    try {
      const leases = await Promise.all(Array.from({ length: 20 }, (_, index) => started(store, `r${index}`)))
      const children = leases.flatMap((lease) => ['x#1', 'y#1'].map((task) => ({ lease, run: `${lease.run}/${task}` })))
      await Promise.all(children.map(({ lease, run }) => store.create(row(run), batch(1), lease)))
      await Promise.all([
        ...leases.map((lease) => store.append(lease, 1, batch(2, 3))),
        ...children.map(({ lease, run }) => store.append(lease, 1, { run, ...batch(2, 2, { progress: true }) })),
        ...children.map(({ run }) => store.post(run, message('m'))),
        store.renew(leases, 60_000),
      ])
      for (const { run } of leases) assert.deepEqual(await seqsOf(store, run), [1, 2, 3, 4])
      for (const { run } of children) assert.deepEqual(await seqsOf(store, run), [1, 2, 3])
      const [renewed] = await store.renew(leases.slice(0, 1), 60_000)
      assert.equal(renewed?.waiting, 2)
    } finally {
      await store.close()
    }
  })

  test('an end appended during a post either records the message or refuses it', async () => {
    await using own = await freshSchema()
    const [one, other] = [await postgresStore(own.url), await postgresStore(own.url)]
    try {
      for (let round = 0; round < 30; round++) {
        const run = `r${round}`
        const lease = await started(one, run)
        const completed = { ...batch(2), row: row(run, { status: 'completed' }) }
        const [ended, posted] = await Promise.allSettled([
          one.append(lease, 1, completed),
          other.post(run, message('m')),
        ])
        const was = posted.status === 'fulfilled' ? posted.value : posted.reason
        if (ended.status === 'fulfilled') assert.equal(was, 'ended')
        else assert.deepEqual([(ended.reason as { code: string }).code, was], ['INBOX_WAITING', 'posted'])
      }
    } finally {
      await one.close()
      await other.close()
    }
  })

  test('a message that was posted and recorded before its repetition exists, even if the run has ended', async () => {
    await using own = await freshSchema()
    await using client = await connected(own.url)
    const store = await postgresStore(own.url)
    try {
      await started(store, 'r')
      await client.query(`begin; update ${own.schema}.heads set status = 'completed' where run = 'r'`)
      await client.query(
        `insert into ${own.schema}.messages (run_id, message, at, body, taken)
         select id, 'm', '', '', true from ${own.schema}.heads`,
      )
      const posted = store.post('r', message('m'))
      await someoneWaits(client)
      await client.query('commit')
      assert.equal(await posted, 'exists')
      assert.equal(await store.post('r', message('n')), 'ended')
    } finally {
      await store.close()
    }
  })

  test('a message posted during the cancellation of its run makes no run ready', async () => {
    await using own = await freshSchema()
    const [one, other] = [await postgresStore(own.url), await postgresStore(own.url)]
    try {
      for (let round = 0; round < 30; round++) {
        const lease = await started(one, `r${round}`)
        const run = `r${round}/a#1`
        await one.create(row(run), batch(1), lease)
        const cancelled = { run, ...batch(2), row: row(run, { status: 'cancelled' }) }
        await Promise.all([one.append(lease, 1, cancelled), other.post(run, message('m'))])
        const [renewed] = await one.renew([lease], 60_000)
        assert.equal(renewed?.waiting, 0)
      }
    } finally {
      await one.close()
      await other.close()
    }
  })

  test('a schema is made by the first of many simultaneous openings, and opened by the others without a wait', async () => {
    const { url } = await sharedServer('postgres')
    const schema = `made_${process.pid}`
    await using client = await connected(url)
    try {
      const stores = await Promise.all(Array.from({ length: 5 }, () => postgresStore(url, { schema })))
      await Promise.all(stores.map((store) => store.close()))
      // what a long transaction of a busy worker holds, and more
      await client.query(`begin; lock table ${schema}.heads, ${schema}.reprise_migrations in share row exclusive mode`)
      const another = await postgresStore(url, { schema, statementTimeoutMs: 2_000 })
      assert.equal(await another.row('r'), undefined)
      await another.close()
      await client.query('rollback')
    } finally {
      await client.query(`drop schema if exists ${schema} cascade`)
    }
  })

  test('the printed migrations make the same schema as an opening', async () => {
    const { url } = await sharedServer('postgres')
    const schema = `Printed "${process.pid}"`
    const name = `"${schema.replaceAll('"', '""')}"`
    await using client = await connected(url)
    const pool = await openPool(readPostgresUrl(url, { schema }))
    try {
      const pending = await pendingMigrations(pool, schema)
      assert.equal(layoutBefore(pending), undefined)
      await client.query(printedMigrations(schema, pending))
      assert.deepEqual(await pendingMigrations(pool, schema), [])
      assert.deepEqual(await applyMigrations(pool, schema), [])
      assert.equal(printedMigrations(schema, []), '')
      const store = await postgresStore(url, { schema })
      await started(store, 'r')
      await store.close()
    } finally {
      await client.query(`drop schema if exists ${name} cascade`)
      await pool.close()
    }
  })

  test('a schema for newer code, and one of another build, are refused', async () => {
    await using own = await freshSchema()
    await using client = await connected(own.url)
    try {
      await client.query(`update ${own.schema}.oldest_writer set format = 99`)
      await refused(postgresStore(own.url), 'STORE_NEWER', /format 99/)
      await client.query(`update ${own.schema}.oldest_writer set format = 1`)
      await client.query(
        `update ${own.schema}.reprise_migrations set checksum = 'x' || checksum where number = ${formatNumber}`,
      )
      await refused(postgresStore(own.url), 'STORE_INVALID', /another build/)
    } finally {
      await client.query(`update ${own.schema}.oldest_writer set format = 1`)
      await client.query(`update ${own.schema}.reprise_migrations set checksum = replace(checksum, 'x', '')`)
    }
  })

  test('a schema of an earlier build is refused with both numbers', async () => {
    await using own = await freshSchema()
    await using client = await connected(own.url)
    await client.query(`update ${own.schema}.reprise_migrations set number = 7`)
    try {
      await refused(
        postgresStore(own.url),
        'STORE_INVALID',
        new RegExp(`has layout 7, of an earlier build, and this build has layout ${formatNumber}: finish or delete`),
      )
    } finally {
      await client.query(`update ${own.schema}.reprise_migrations set number = ${formatNumber}`)
    }
  })

  test('later migrations are applied, all of them or none', async () => {
    const { url } = await sharedServer('postgres')
    const schema = `later_${process.pid}`
    await using client = await connected(url)
    const pool = await openPool(readPostgresUrl(url, { schema }))
    const later = (number: number, sql: string): Migration => ({ number, name: `${number}`, checksum: sql, sql })
    const [next, last] = [later(98, 'create table ninetyeighth (a int)'), later(99, 'create table ninetyninth (a int)')]
    try {
      await applyMigrations(pool, schema)
      await assert.rejects(applyMigrations(pool, schema, [...migrations, next, later(99, 'create nonsense')]), /syntax/)
      assert.deepEqual(await pendingMigrations(pool, schema, [...migrations, next]), [next])
      assert.deepEqual(await applyMigrations(pool, schema, [...migrations, next]), [next])
      assert.deepEqual(await applyMigrations(pool, schema, [...migrations, next, last]), [last])
      await client.query(`select * from ${schema}.ninetyeighth, ${schema}.ninetyninth`)
    } finally {
      await client.query(`drop schema if exists ${schema} cascade`)
      await pool.close()
    }
  })

  test('a role that may not make the schema gets the command to run', async () => {
    const { url } = await sharedServer('postgres')
    await using client = await connected(url)
    await client.query(
      `drop role if exists reader_${process.pid}; create role reader_${process.pid} login password 'reading'`,
    )
    try {
      const poor = new URL(url)
      poor.username = `reader_${process.pid}`
      poor.password = 'reading'
      await refused(
        postgresStore(poor.href, { schema: 'not_there' }),
        'STORE_INVALID',
        /create its tables with openStore/,
      )
    } finally {
      await client.query(`drop role reader_${process.pid}`)
    }
  })

  test('a wrong password, a missing database and a server that is away are distinguished, without the password', async () => {
    const { url } = await sharedServer('postgres')
    const wrong = new URL(url)
    wrong.password = 'secret-hunter2'
    await refused(openStore(wrong.href), 'STORE_INVALID', /check the user and the password/)
    await assert.rejects(openStore(wrong.href), (error: Error) => !error.message.includes('hunter2'))
    const nowhere = new URL(url)
    nowhere.pathname = '/not_there'
    await refused(openStore(nowhere.href), 'STORE_INVALID', /create the database/)
    const away = await openStore('postgres://me:secret-hunter2@127.0.0.1:1/x')
    await refused(away.row('r'), 'STORE_UNAVAILABLE', /ECONNREFUSED/)
    await assert.rejects(away.row('r'), (error: Error) => !error.message.includes('hunter2'))
    await away.close()
  })

  test('a store opened while the server is away works once it is back, and makes its schema then', async () => {
    await using server = await startServer('postgres')
    await server.stop()
    const store = await postgresStore(server.url)
    try {
      await refused(store.create(row('r'), batch(1)), 'STORE_UNAVAILABLE')
      await server.start()
      await started(store, 'r')
      assert.deepEqual(await seqsOf(store, 'r'), [1])
    } finally {
      await store.close()
    }
  })

  test("a store's URL is shown without the password, and with the schema", async () => {
    await using own = await freshSchema()
    const store = await openStore(own.url)
    try {
      assert.match(store.url, /^postgres:\/\/reprise@127\.0\.0\.1:\d+\/postgres\?schema=test_\w+$/)
    } finally {
      await store.close()
    }
  })

  test('a run of a dead process on this machine is claimed at once, one of another machine after its lease', async () => {
    await using own = await freshSchema()
    const clock = { now: 1_000_000 }
    const store = await postgresStore(own.url, { now: () => clock.now })
    try {
      const gone = { ...currentOwner(), pid: 2 ** 22 - 1, start: '1', instance: 'gone' }
      for (const [run, owner] of [
        ['here', gone],
        ['there', elsewhere('a')],
      ] as const)
        await started(store, run, owner)
      const lanes = [{ crew: 'claims', version: '1', format: 1 }]
      const claim = async (): Promise<string[]> =>
        (await store.claim(currentOwner(), 30_000, lanes, { limit: 10 })).map(({ run }) => run)
      assert.deepEqual(await claim(), ['here'])
      clock.now += 30_001
      assert.deepEqual((await claim()).toSorted(), ['here', 'there'])
    } finally {
      await store.close()
    }
  })
})

test('an invalid URL, a bad schema and bad numbers are refused before any connection', async () => {
  await refused(postgresStore('mysql://me:hunter2@x/y'), 'STORE_INVALID', /isn't|not the URL/)
  await refused(openStore(`postgres://x/y?schema=${'s'.repeat(64)}`), 'STORE_INVALID', /name of a schema/)
  await refused(openStore('postgres://x/y?schema=pg_mine'), 'STORE_INVALID', /pg_/)
  await refused(openStore('postgres://x/y?pool=none'), 'STORE_INVALID', /pool is "none"/)
  await refused(openStore('postgres://x/y?statement_timeout=0'), 'STORE_INVALID', /statement_timeout is "0"/)
})

/** Until a statement waits for a lock that this connection has. */
/** Or has not waited: then what it was to wait for is over. */
async function someoneWaits(client: pg.Client, work?: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  void work?.finally(() => over.abort()).catch(() => undefined)
  const waiting = 'select 1 from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))'
  while (!over.signal.aborted && (await client.query(waiting)).rows.length === 0)
    await new Promise((resolve) => setImmediate(resolve))
}

async function connected(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}
