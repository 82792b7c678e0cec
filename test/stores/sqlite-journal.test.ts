// The journal in its table: what the database itself refuses, what reads see during writes and deletions, and what a
// deletion leaves.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import { sqliteStore, type Line } from 'reprise/stores'
import { batch, entry, linesOf, refused, row, seqsOf, started } from '../../src/testing/store-contract/harness.ts'
import { ended, linesFrom, otherProcess } from './other-process.ts'
import { temporaryFolder } from './temporary-folder.ts'

test('the database refuses a used number, and a line without a run, from any writer', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const store = await sqliteStore(path)
  await started(store, 'r')
  await store.close()
  const db = new DatabaseSync(path)
  const insert = db.prepare('insert into entries (run_id, seq, line) values (?, ?, ?)')
  const id = Number(db.prepare('select id from runs').get()?.['id'])
  assert.throws(() => insert.run(id, 1, entry(1).bytes), /UNIQUE constraint failed: entries\.run_id, entries\.seq/)
  assert.throws(() => insert.run(id + 1, 1, entry(1).bytes), /FOREIGN KEY constraint failed/)
  db.close()
})

test('a writer that gets past the fence is refused by the database, and the journal is unchanged', async (context) => {
  await using folder = await temporaryFolder()
  const store = await sqliteStore(join(folder.path, 'runs.db'))
  const lease = await started(store, 'r')
  await store.append(lease, 1, batch(2, 4))
  const get = StatementSync.prototype.get as (...values: unknown[]) => never
  const fence = context.mock.method(
    StatementSync.prototype,
    'get',
    function (this: StatementSync, ...values: unknown[]) {
      return this.sourceSQL.startsWith('select runs.id as run_id')
        ? { run_id: 1, id: 1, waiting: 0, tries: 0 }
        : get.apply(this, values)
    },
  )
  await refused(store.append(lease, 3, batch(4)), 'STORE_FAILED', /UNIQUE constraint failed/)
  fence.mock.restore()
  assert.deepEqual(await linesOf(store, 'r'), batch(1, 5).lines)
  await store.append(lease, 5, batch(6))
  await store.close()
})

test('a deleted run leaves no row in any table, and the others are complete', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const store = await sqliteStore(path)
  const parts = { blobs: [{ hash: 'h', bytes: Buffer.from('b') }], outputs: [{ task: 't', fingerprint: 'f', seq: 2 }] }
  for (const run of ['a', 'b']) {
    const lease = await started(store, run)
    await store.append(lease, 1, batch(2, 300, parts))
    await store.post(run, { id: 'm', at: '', body: '' })
    await store.release(lease)
  }
  await store.delete('a')
  const db = new DatabaseSync(path)
  const b = `(select id from runs where run = 'b')`
  for (const [table, count] of Object.entries({ entries: 301, blobs: 1, outputs: 1, messages: 1 })) {
    const found = db
      .prepare(`select count(*) as rows, count(*) filter (where run_id = ${b}) as ofB from ${table}`)
      .get()
    assert.deepEqual({ ...found }, { rows: count, ofB: count }, table)
  }
  db.close()
  await store.close()
})

test('a read gets all hinted entries in order while another process writes, and whole batches after that is killed', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const size = 300
  const child = otherProcess('flood', `sqlite:${path}`, 'r', String(size))
  const lines = linesFrom(child)[Symbol.asyncIterator]()
  await lines.next()
  const store = await sqliteStore(path)
  let told = 0
  try {
    while (told < 10_000) {
      told = Number((await lines.next()).value)
      let seq = told - size
      // only up to the hinted entry, since the other process is faster
      for await (const line of store.read('r', seq)) {
        assert.equal(line.seq, ++seq)
        if (seq === told) break
      }
      assert.equal(seq, told)
    }
  } finally {
    child.kill('SIGKILL')
  }
  await ended(child)
  const count = (await seqsOf(store, 'r')).length
  assert.ok(count >= told && count % size === 0)
  await store.close()
})

for (const who of ['the same connection', 'another connection'] as const) {
  for (const next of ['another', 'one of the same name']) {
    test(`a read gets nothing of ${next} that ${who} makes in place of a run deleted meanwhile`, async () => {
      await using folder = await temporaryFolder()
      const path = join(folder.path, 'runs.db')
      const store = await sqliteStore(path)
      const other = who === 'the same connection' ? store : await sqliteStore(path)
      const lease = await started(store, 'a')
      await store.append(lease, 1, batch(2, 299))
      const read: Line[] = []
      for await (const line of store.read('a')) {
        read.push({ seq: line.seq, bytes: Buffer.from(line.bytes) })
        if (line.seq > 1) continue
        await store.release(lease)
        await other.delete('a')
        const lines = Array.from({ length: 300 }, (_, index) => entry(index + 1, 'of the other run'))
        await other.create(row(next === 'another' ? 'b' : 'a'), { lines })
      }
      assert.deepEqual(read, batch(1, read.length).lines)
      await store.close()
      await other.close()
    })
  }
}
