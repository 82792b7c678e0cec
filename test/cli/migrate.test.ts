import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import pg from 'pg'
import { sharedServer, without } from '../support/servers/shared-server.ts'
import { claims, project, records } from './support.ts'

const inputs = ['--input', 'notes=Water', '--input', 'tone=calm']

/** A schema that is not there, with the client of an owner, and a role that owns nothing. */
async function nowhere() {
  const { url } = await sharedServer('postgres')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const schema = `none_${randomBytes(6).toString('hex')}`
  const role = `role_${schema}`
  await client.query(`create role ${role} login password 's3cret'`)
  const own = new URL(url)
  own.searchParams.set('schema', schema)
  const poor = new URL(own)
  poor.username = role
  poor.password = 's3cret'
  return {
    client,
    schema,
    role,
    url: own.href,
    poor: poor.href,
    async [Symbol.asyncDispose]() {
      await client.query(`drop schema if exists ${schema} cascade; drop owned by ${role}; drop role ${role}`)
      await client.end()
    },
  }
}

describe('reprise migrate over PostgreSQL', { skip: await without('postgres') }, () => {
  test('prints only SQL, which makes the tables when executed by hand', async () => {
    await using place = await nowhere()
    await using folder = await project(claims)
    const printed = await folder.reprise('migrate', '--print', '--store', place.url)
    assert.deepEqual([printed.code, printed.stderr], [0, ''])
    const made = `select count(*)::int as count from pg_namespace where nspname = '${place.schema}'`
    assert.equal((await place.client.query(made)).rows[0].count, 0)
    await place.client.query(printed.stdout)
    const after = await folder.reprise('migrate', '--print', '--store', place.url)
    assert.equal(after.stdout, '')
    assert.match(after.stderr, /^nothing is missing in schema none_/)
    const again = await folder.reprise('migrate', '--json', '--store', place.url)
    const [{ before, layout } = {}] = records(again)
    assert.equal(before, layout)
    assert.equal((await folder.reprise('run', '--store', place.url, '--id', 'r', ...inputs)).code, 0)
    const { rows } = await place.client.query(`select status, done from ${place.schema}.runs`)
    assert.deepEqual(rows, [{ status: 'completed', done: 2 }])
  })

  test('makes the missing tables, and then reports that nothing is missing', async () => {
    await using place = await nowhere()
    await using folder = await project(claims)
    const ended = await folder.reprise('migrate', '--store', place.url)
    assert.deepEqual([ended.code, ended.stdout], [0, ''])
    assert.match(ended.stderr, /^postgres:\/\/\S+ was created with layout \d+\n$/)
    const again = await folder.reprise('migrate', '--store', place.url)
    assert.match(again.stderr, /^postgres:\/\/\S+ is up to date: layout \d+\n$/)
  })

  test('names a role that may not make tables and what to do, as opening the store does', async () => {
    await using place = await nowhere()
    await using folder = await project(claims)
    for (const words of [['migrate'], ['run', ...inputs]]) {
      const ended = await folder.reprise(...words, '--store', place.poor)
      assert.equal(ended.code, 2, ended.stderr)
      const said = new RegExp(
        `role ${place.role} may not create the tables of schema ${place.schema} .*permission denied.* reprise migrate --print`,
      )
      assert.match(ended.stderr, said)
      assert.ok(!ended.stderr.includes('s3cret'))
    }
  })

  test('leaves it to doctor to list what is missing and what the role may not do, without the password or a change', async () => {
    await using place = await nowhere()
    await using folder = await project(claims)
    const look = async (url: string) => {
      const ended = await folder.reprise('doctor', '--json', '--store', url)
      assert.ok(!ended.stdout.includes(new URL(url).password))
      return Object.fromEntries(records(ended).map(({ check, ...rest }) => [String(check), rest]))
    }
    const before = await look(place.url)
    assert.match(
      String(before['store']?.['says']),
      /: PostgreSQL \d+\.\d+, UTF8, schema none_\w+, can be written as reprise$/,
    )
    assert.match(String(before['layout']?.['says']), /^does not exist yet/)
    const lacking = await look(place.poor)
    assert.match(
      String(lacking['store']?.['says']),
      /cannot be written: role role_\w+ may not create a schema in database/,
    )
    await folder.reprise('migrate', '--store', place.url)
    await place.client.query(
      `grant usage on schema ${place.schema} to ${place.role};
       grant select on all tables in schema ${place.schema} to ${place.role}`,
    )
    assert.match(String((await look(place.poor))['store']?.['says']), /role role_\w+ may not write table \w+$/)
    const { layout, runs, pooler } = await look(place.url)
    assert.match(String(layout?.['says']), /^\d+, as this version writes it$/)
    assert.deepEqual([runs?.['says'], pooler], ['0', undefined])
    await place.client.query(`update ${place.schema}.reprise_migrations set number = 7`)
    const old = await look(place.url)
    assert.equal(old['store']?.['state'], 'fail')
    assert.match(String(old['store']?.['says']), /has layout 7, of an earlier build, and this build has layout \d+/)
  })
})

test('doctor reports in one line that a server is away, without its password', async () => {
  await using folder = await project(claims)
  const ended = await folder.reprise('doctor', '--store', 'postgres://me:s3cret@127.0.0.1:1/x')
  assert.equal(ended.code, 1)
  assert.match(
    ended.stdout,
    /^fail {2}store {7}from --store: postgres:\/\/me@127\.0\.0\.1:1\/x cannot be reached \(connect/m,
  )
  assert.ok(!ended.stdout.includes('s3cret') && !/^\s+at /m.test(ended.stdout))
})

test('migrate says that opening a local store updates it', async () => {
  await using folder = await project(claims)
  const first = await folder.reprise('migrate')
  assert.match(first.stderr, /^sqlite:.*runs\.db does not exist yet; the first run creates it\n$/)
  for (const store of [[], ['--store', 'file:state']]) {
    await folder.reprise('run', ...store, ...inputs)
    assert.match((await folder.reprise('migrate', ...store)).stderr, /^(sqlite|file):\S+ is up to date: layout \d+\n$/)
  }
  const printed = await folder.reprise('migrate', '--print')
  assert.equal(printed.code, 2)
  assert.match(printed.stderr, /^error: --print is for PostgreSQL, not for sqlite:/)
  await writeFile(join(folder.path, 'other.db'), 'not a database at all, but long enough to look like one'.repeat(100))
  const broken = await folder.reprise('migrate', '--store', 'sqlite:other.db')
  assert.notEqual(broken.code, 0)
  assert.match(broken.stderr, /not a database/)
})
