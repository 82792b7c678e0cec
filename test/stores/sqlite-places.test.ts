// Where a run's entries are is kept in two tables: new places go to a small one, which is emptied into a large one now and then.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sqliteStore } from 'reprise/stores'
import { batch, linesOf, seqsOf, started } from '../../src/testing/store-contract/harness.ts'
import { ended, linesFrom, otherProcess } from './other-process.ts'
import { temporaryFolder } from './temporary-folder.ts'

const runs = ['a', 'b', 'c']
const size = 300

test('reads runs whose places are in both tables, from anywhere, in order and byte for byte', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const store = await sqliteStore(path)
  const leases = await Promise.all(runs.map((run) => started(store, run)))
  for (let seq = 1; seq < 4_000; seq += size) {
    await Promise.all(leases.map((lease) => store.append(lease, seq, batch(seq + 1, size))))
  }
  const { moved, recent } = placesIn(path)
  assert.ok(moved >= 8_192 && recent > 0, `${moved} places were moved, ${recent} are recent`)
  const last = 1 + Math.ceil(3_999 / size) * size
  for (const run of runs) assert.deepEqual(await linesOf(store, run), batch(1, last).lines)
  assert.deepEqual(await seqsOf(store, 'b', last - 1), [last])
  assert.equal((await seqsOf(store, 'c', 2)).length, last - 2)
  await store.close()
})

test('deletes the entries of a run wherever their places are, and no other', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const store = await sqliteStore(path)
  const [a, b] = await Promise.all(runs.map((run) => started(store, run)))
  assert.ok(a && b)
  for (let seq = 1; seq < 2_400; seq += size) {
    await Promise.all([a, b].map((lease) => store.append(lease, seq, batch(seq + 1, size))))
  }
  // the newest entries of all, so that their ids are given out again
  await store.append(b, 2_401, batch(2_402, size))
  await store.release(b)
  await store.delete('b')
  assert.deepEqual(await seqsOf(store, 'b'), [])
  assert.equal(placesIn(path).entries, 2_401 + 1)
  for (let seq = 2_401; seq < 6_000; seq += size) await store.append(a, seq, batch(seq + 1, size))
  assert.deepEqual(await linesOf(store, 'a'), batch(1, 6_001).lines)
  assert.deepEqual(await seqsOf(store, 'c'), [1])
  await store.close()
})

test('has a place for every entry, read by one process while another writes, and after that one is killed', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const child = otherProcess('flood', `sqlite:${path}`, 'r', String(size))
  const lines = linesFrom(child)[Symbol.asyncIterator]()
  await lines.next()
  const store = await sqliteStore(path)
  let told = 0
  try {
    while (told < 20_000) {
      told = Number((await lines.next()).value)
      let seq = told - size
      // no further than what it was told of: the other process is faster
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
  const { moved, recent, entries } = placesIn(path)
  assert.ok(moved > 0)
  assert.equal(moved + recent, entries)
  await store.close()
})

/** How many of each, once it is certain that every place is that of its entry. */
function placesIn(path: string): { moved: number; recent: number; entries: number } {
  const db = new DatabaseSync(path)
  const count = (from: string): number => Number(db.prepare(`select count(*) as n from ${from}`).get()?.['n'])
  const found = { moved: count('places'), recent: count('recent_places'), entries: count('entries') }
  const right = 'all_places p join entries e on e.id = p.entry_id and e.run_id = p.run_id and e.seq = p.seq'
  assert.equal(count(right), found.entries)
  assert.equal(count('all_places'), found.entries)
  db.close()
  return found
}
