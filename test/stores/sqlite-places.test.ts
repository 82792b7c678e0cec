// Where a run's entries are is noted in bulk, now and then; every connection remembers the places of the newest.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import fc from 'fast-check'
import { sqliteStore, type Lease, type Line, type Store } from 'reprise/stores'
import { batch, entry, linesOf, row, seqsOf, started } from '../../src/testing/store-contract/harness.ts'
import { checkPlaces } from './check-places.ts'
import { ended, linesFrom, otherProcess } from './other-process.ts'
import { temporaryFolder } from './temporary-folder.ts'

const runs = ['a', 'b', 'c']
const size = 300

test('reads runs whose places are partly noted, from anywhere, in order and byte for byte', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const store = await sqliteStore(path)
  const leases = await Promise.all(runs.map((run) => started(store, run)))
  for (let seq = 1; seq < 4_000; seq += size) {
    await Promise.all(leases.map((lease) => store.append(lease, seq, batch(seq + 1, size))))
  }
  const { noted, newest } = checkPlaces(path)
  assert.ok(noted >= 8_192 && newest > 0, `${noted} places were noted, ${newest} are not`)
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
  assert.equal(checkPlaces(path).entries, 2_401 + 1)
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
  assert.ok(checkPlaces(path).noted > 0)
  await store.close()
})

test('two connections know of what the other wrote, noted and deleted, and never of what is gone', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const one = await sqliteStore(path)
  const two = await sqliteStore(path)
  const [a, b] = [await started(one, 'a'), await started(two, 'b')]
  for (let seq = 1; seq < 3_000; seq += size) {
    await one.append(a, seq, batch(seq + 1, size))
    await two.append(b, seq, batch(seq + 1, size))
    assert.deepEqual(await seqsOf(two, 'a', seq), range(seq + 1, seq + size))
    assert.deepEqual(await seqsOf(one, 'b', seq), range(seq + 1, seq + size))
  }
  assert.ok(checkPlaces(path).noted > 0)
  // the ids of the newest entries are free again, and go to a run of the other connection
  const d = await started(two, 'd')
  await two.append(d, 1, batch(2, 20))
  assert.equal((await seqsOf(one, 'd')).length, 21)
  for (const lease of [b, d]) {
    await two.release(lease)
    await two.delete(lease.run)
    assert.equal((await seqsOf(one, 'a')).length, 3_001)
  }
  const c = await started(two, 'c')
  await one.append(a, 3_001, batch(3_002, 5))
  await two.append(c, 1, batch(2, 5))
  await one.append(a, 3_006, batch(3_007, 5))
  for (const store of [one, two]) {
    assert.deepEqual(await seqsOf(store, 'a'), range(1, 3_011))
    assert.deepEqual([await seqsOf(store, 'b'), await seqsOf(store, 'd')], [[], []])
    assert.deepEqual(await seqsOf(store, 'c'), range(1, 6))
  }
  await one.close()
  await two.close()
})

for (const who of ['the same connection', 'another connection'] as const) {
  for (const next of ['another', 'one of the same name']) {
    test(`a read gives nothing of ${next} that ${who} makes in place of a run deleted under way`, async () => {
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
        const lines = range(1, 300).map((seq) => entry(seq, 'of the other run'))
        await other.create(row(next === 'another' ? 'b' : 'a'), { lines })
      }
      assert.deepEqual(read, batch(1, read.length).lines)
      await store.close()
      await other.close()
    })
  }
}

test('a read sees one moment: nothing of what others delete and append while it looks for what is new', async (context) => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const store = await sqliteStore(path)
  const [a, b] = [await started(store, 'a'), await started(store, 'b')]
  await store.append(a, 1, batch(2, 9))
  await store.append(b, 1, batch(2, 9))
  await store.release(b)
  assert.equal((await seqsOf(store, 'a')).length, 10)
  const other = new DatabaseSync(path)
  // so that there is something to look for
  other.exec("update runs set summary = 'other'")
  const all = StatementSync.prototype.all as (...values: unknown[]) => never
  const looks = context.mock.method(
    StatementSync.prototype,
    'all',
    function (this: StatementSync, ...values: unknown[]) {
      if (this.sourceSQL.startsWith('select id, run_id, seq from entries') && looks.mock.callCount() === 0) {
        // the first half of these gets the ids of b's
        other.exec(`begin; delete from runs where run = 'b';
        insert into entries (run_id, seq, line)
          select 1, 11 + key, 'x' from json_each('${JSON.stringify(range(1, 18))}'); commit`)
      }
      return all.apply(this, values)
    },
  )
  const read = await seqsOf(store, 'a')
  assert.ok(read.length === 10 || read.length === 28, `half of a batch: ${read.length}`)
  other.close()
  await store.close()
})

test('a refused append leaves nothing behind in what a connection remembers', async () => {
  await using folder = await temporaryFolder()
  const store = await sqliteStore(join(folder.path, 'runs.db'))
  const leases = await Promise.all(runs.map((run) => started(store, run)))
  const [a, b, c] = leases
  assert.ok(a && b && c)
  for (let seq = 1; seq < 50; seq++) {
    const appends: Promise<void>[] = [
      store.append(a, seq, batch(seq + 1, 1)),
      store.append(b, seq + 7, batch(seq + 8, 1)),
      store.append(c, seq, batch(seq + 1, 1)),
    ]
    const settled = await Promise.allSettled(appends)
    assert.deepEqual(
      settled.map((result) => result.status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(await seqsOf(store, 'b'), [1])
    assert.deepEqual(await seqsOf(store, 'c'), range(1, seq + 1))
  }
  await store.close()
})

test('three connections agree on every run, in whatever order they append, are refused and delete', async () => {
  const which = fc.nat(2)
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ what: fc.constant('append'), handle: which, run: fc.nat(3), count: fc.nat(1_400) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ what: fc.constant('refuse'), handle: which, run: fc.nat(3), count: fc.constant(2) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ what: fc.constant('delete'), handle: which, run: fc.nat(3), count: fc.constant(0) }),
    },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      await using folder = await temporaryFolder()
      const path = join(folder.path, 'runs.db')
      const stores = await Promise.all([0, 1, 2].map(() => sqliteStore(path)))
      const expected = new Map<string, { lease: Lease; last: number }>()
      for (const { what, handle, run: number, count } of steps) {
        const store = stores[handle] as Store
        const run = `r${number}`
        const known = expected.get(run) ?? { lease: await started(store, run), last: 1 }
        expected.set(run, known)
        if (what === 'append') {
          await store.append(known.lease, known.last, batch(known.last + 1, count + 1))
          known.last += count + 1
        } else if (what === 'refuse') {
          await assert.rejects(store.append(known.lease, known.last + 1, batch(known.last + 2, count)), {
            code: 'SEQ_CONFLICT',
          })
        } else {
          await store.release(known.lease)
          await store.delete(run)
          expected.delete(run)
        }
        const reader = stores[(handle + 1) % 3] as Store
        assert.deepEqual(await seqsOf(reader, run, Math.max(0, known.last - 3)), what === 'delete' ? [] : lastOf(known))
      }
      for (const [run, { last }] of expected) {
        for (const store of stores) assert.deepEqual(await seqsOf(store, run), range(1, last))
      }
      checkPlaces(path)
      await Promise.all(stores.map((store) => store.close()))
    }),
    { numRuns: 40 },
  )
})

function lastOf({ last }: { last: number }): number[] {
  return range(Math.max(1, last - 2), last)
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}
