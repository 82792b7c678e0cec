import assert from 'node:assert/strict'
import { mkdir, open, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sqliteStore, type Lease } from 'reprise/stores'
import { hashBytes } from '../../src/journal/hash.ts'
import type { Migration } from '../../src/stores/rules/driver.ts'
import { migrate } from '../../src/stores/sqlite/open-database.ts'
import { migrations } from '../../src/stores/sqlite/migrations.ts'
import { batch, entry, linesOf, refused, row, seqsOf, started } from '../../src/testing/store-contract/harness.ts'
import { processContract } from './process-contract.ts'
import { temporaryFolder } from './temporary-folder.ts'

processContract('a SQLite store', {
  url: (folder) => `sqlite:${join(folder, 'runs.db')}`,
  open: (folder) => sqliteStore(join(folder, 'runs.db')),
  database: (folder) => join(folder, 'runs.db'),
})

test('a SQLite store makes files and folders that only their owner can read', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'deep', '.reprise', 'runs.db')
  const store = await sqliteStore(path)
  await started(store, 'r')
  for (const name of [path, `${path}-wal`, `${path}-shm`]) assert.equal(await modeOf(name), 0o600, basename(name))
  assert.equal(await modeOf(join(folder.path, 'deep')), 0o700)
  assert.equal(await modeOf(join(folder.path, 'deep', '.reprise')), 0o700)
  await store.close()
})

test('a SQLite store adds a .gitignore to a .reprise folder, and leaves an existing one', async () => {
  await using folder = await temporaryFolder()
  const ignore = join(folder.path, '.reprise', '.gitignore')
  const store = await sqliteStore(join(folder.path, '.reprise', 'runs.db'))
  await store.close()
  assert.equal(await readFile(ignore, 'utf8'), '*\n')
  await writeFile(ignore, 'mine\n')
  const again = await sqliteStore(join(folder.path, '.reprise', 'runs.db'))
  await again.close()
  assert.equal(await readFile(ignore, 'utf8'), 'mine\n')
  const elsewhere = await sqliteStore(join(folder.path, 'state', 'runs.db'))
  await elsewhere.close()
  await assert.rejects(stat(join(folder.path, 'state', '.gitignore')))
})

test('a SQLite store refuses a database that only newer code may write, and names both formats', async () => {
  await using folder = await temporaryFolder()
  const path = await closedDatabase(folder.path)
  change(path, 'update oldest_writer set format = 99')
  await refused(sqliteStore(path), 'STORE_NEWER', /runs\.db .*format 99 .*format 8\b/)
})

test('a SQLite store writes a database with later migrations that still allow this code', async () => {
  await using folder = await temporaryFolder()
  const path = await closedDatabase(folder.path)
  change(path, "insert into migrations values (99, '0099-later', 'x', 'now'); alter table runs add column later text")
  const store = await sqliteStore(path)
  await started(store, 'another')
  assert.deepEqual(await seqsOf(store, 'another'), [1])
  await store.close()
})

test('a SQLite store refuses a database with other migrations than this code', async () => {
  await using folder = await temporaryFolder()
  const path = await closedDatabase(folder.path)
  change(path, "update migrations set checksum = 'other'")
  await refused(sqliteStore(path), 'STORE_INVALID', /another build.*0008-runs-and-entries/)
})

test('a SQLite store refuses a database of an earlier build with both numbers, and leaves it as it was', async () => {
  await using folder = await temporaryFolder()
  const path = await closedDatabase(folder.path)
  change(path, "update migrations set number = 5, name = '0005-deaths'; update oldest_writer set format = 5")
  const before = await readFile(path)
  await refused(
    sqliteStore(path),
    'STORE_INVALID',
    /runs\.db has layout 5, of an earlier build, and this build has layout 8: finish or delete its runs with the build that created it/,
  )
  assert.deepEqual(await readFile(path), before)
})

test('a SQLite store applies later migrations, all of them or none', async () => {
  await using folder = await temporaryFolder()
  const path = await closedDatabase(folder.path)
  const later = (number: number, sql: string): Migration => ({ number, name: `${number}`, checksum: sql, sql })
  const [first, second] = [later(98, 'create table added_1 (a)'), later(99, 'create table added_2 (a)')]
  const db = new DatabaseSync(path)
  const tables = () =>
    db
      .prepare("select name from sqlite_master where name like 'added%' order by name")
      .all()
      .map(({ name }) => name)
  assert.throws(() => migrate(db, path, [...migrations, first, later(99, 'create nonsense')]), /syntax error/)
  assert.deepEqual(tables(), [])
  migrate(db, path, [...migrations, first])
  migrate(db, path, [...migrations, first, second])
  migrate(db, path, [...migrations, first, second])
  assert.deepEqual(tables(), ['added_1', 'added_2'])
  db.close()
})

test("a SQLite store refuses another program's database and leaves it as it was", async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'other.db')
  change(path, 'create table users (name text)')
  await refused(sqliteStore(path), 'STORE_INVALID', /other\.db is the database of another program/)
  const db = new DatabaseSync(path)
  assert.equal(db.prepare('select name from sqlite_master').all().length, 1)
  assert.equal(db.prepare('pragma journal_mode').get()?.['journal_mode'], 'delete')
  db.close()
})

test("a SQLite store refuses a file that isn't a database, with the remedy", async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  await writeFile(path, 'this is a text and not a database at all\n'.repeat(100))
  await refused(
    sqliteStore(path),
    'STORE_INVALID',
    /runs\.db is damaged or isn't a SQLite database.*move it aside.*backup/,
  )
})

test('a SQLite store refuses a damaged database, with the remedy', async () => {
  await using folder = await temporaryFolder()
  const path = await closedDatabase(folder.path)
  const handle = await open(path, 'r+')
  const { size } = await handle.stat()
  await handle.write(Buffer.alloc(size - 4096, 0x5a), 0, size - 4096, 4096)
  await handle.close()
  await refused(sqliteStore(path), 'STORE_INVALID', /runs\.db is damaged.*move it aside/)
})

test('a SQLite store groups the appends of one turn, and a refused one does not fail its neighbours', async () => {
  await using folder = await temporaryFolder()
  const store = await sqliteStore(join(folder.path, 'runs.db'))
  const [a, b, c, d] = await Promise.all(['a', 'b', 'c', 'd'].map((run) => started(store, run)))
  assert.ok(a && b && c && d)
  await store.release(c)
  const results = await Promise.allSettled([
    store.append(a, 1, batch(2, 2)),
    store.append(b, 7, batch(8)),
    store.append(c, 1, batch(2)),
    store.append(a, 3, batch(4)),
    store.append(d, 1, batch(2)),
  ])
  assert.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? 'ok' : (result.reason as { code: string }).code)),
    ['ok', 'SEQ_CONFLICT', 'LEASE_LOST', 'ok', 'ok'],
  )
  assert.deepEqual(await Promise.all(['a', 'b', 'c', 'd'].map((run) => seqsOf(store, run))), [
    [1, 2, 3, 4],
    [1],
    [1],
    [1, 2],
  ])
  await store.close()
})

test('a SQLite store opens a new database from several connections at once', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'state'))
  const path = join(folder.path, 'state', 'runs.db')
  const stores = await Promise.all(Array.from({ length: 4 }, () => sqliteStore(path)))
  await Promise.all(stores.map((store, index) => started(store, `r${index}`)))
  const first = stores[0]
  assert.equal((await first?.list({}, { limit: 10 }))?.rows.length, 4)
  for (const store of stores) await store.close()
})

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777
}

async function closedDatabase(folder: string): Promise<string> {
  const path = join(folder, 'runs.db')
  const store = await sqliteStore(path)
  await started(store, 'r')
  await store.close()
  return path
}

function change(path: string, sql: string): void {
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
}

test('a SQLite store notices that the last entry was removed or changed, and reuses no number', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const writer = await sqliteStore(path)
  const leases = []
  for (const run of ['removed', 'changed', 'steps']) {
    const lease = await started(writer, run)
    await writer.append(lease, 1, batch(2, 2, { row: row(run, { status: 'suspended' }) }))
    leases.push(lease)
  }
  // steps that change no row are not noted
  await writer.append(leases[2] as Lease, 3, batch(4))
  await writer.close()
  const db = new DatabaseSync(path)
  const at = (run: string): string => `run_id = (select id from runs where run = '${run}')`
  db.exec(`delete from entries where ${at('removed')} and seq = 3; delete from entries where ${at('steps')} and seq = 4;
    update entries set line = cast('{"seq":3,"type":"x"}' as blob) where ${at('changed')} and seq = 3`)
  db.close()
  const store = await sqliteStore(path)
  assert.deepEqual(await store.lastNoted('removed'), { seq: 3, hash: hashBytes(entry(3).bytes) })
  assert.deepEqual(await seqsOf(store, 'removed'), [1, 2])
  await refused(store.append(leases[0] as Lease, 2, batch(3)), 'SEQ_CONFLICT', /at entry 3, not 2/)
  await store.append(leases[0] as Lease, 3, batch(4, 2))
  assert.deepEqual(await seqsOf(store, 'removed'), [1, 2, 4, 5])
  const [changed] = await linesOf(store, 'changed', 2)
  assert.notEqual((await store.lastNoted('changed'))?.hash, hashBytes(changed?.bytes ?? ''))
  assert.equal((await store.lastNoted('steps'))?.seq, 3)
  await store.close()
})

test('a SQLite store reads on after removed lines, however many', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const writer = await sqliteStore(path)
  const lease = await started(writer, 'r')
  await writer.append(lease, 1, batch(2, 299, { row: row('r', { status: 'suspended' }) }))
  await writer.close()
  change(path, 'delete from entries where seq between 3 and 298')
  const store = await sqliteStore(path)
  assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 299, 300])
  await store.append(lease, 300, batch(301))
  assert.deepEqual(await seqsOf(store, 'r', 299), [300, 301])
  await store.close()
})
