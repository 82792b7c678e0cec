// Statements that fail in a real database: acknowledged writes stay, no other connection is locked out, and the
// connection continues.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { StatementSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { sqliteStore, type Store } from 'reprise/stores'
import { batch, linesOf, refused, seqsOf, started } from '../../src/testing/store-contract/harness.ts'
import { temporaryFolder } from './temporary-folder.ts'

const busy = 5
const broken = 10
const unbroken = Object.getOwnPropertyDescriptors(StatementSync.prototype)

test('a SQLite store reads nothing of a failed write, even if it could not be rolled back', async (context) => {
  await using folder = await temporaryFolder()
  const store = await sqliteStore(join(folder.path, 'runs.db'))
  const lease = await started(store, 'r')
  failOnce(context, 'commit', broken)
  failOnce(context, 'rollback', broken)
  await refused(store.append(lease, 1, batch(2)), 'OUTCOME_UNKNOWN')
  assert.deepEqual(await seqsOf(store, 'r'), [1])
  await store.append(lease, 1, batch(2))
  assert.deepEqual(await seqsOf(store, 'r'), [1, 2])
  await store.close()
})

test('a SQLite store knows what a commit has written that reported a failure', async (context) => {
  await using folder = await temporaryFolder()
  const store = await sqliteStore(join(folder.path, 'runs.db'))
  const lease = await started(store, 'r')
  failOnce(context, 'commit', broken, 1, 'after it')
  await refused(store.append(lease, 1, batch(2, 3)), 'OUTCOME_UNKNOWN')
  assert.deepEqual(await seqsOf(store, 'r'), [1, 2, 3, 4])
  await refused(store.append(lease, 1, batch(2, 3)), 'SEQ_CONFLICT')
  await store.append(lease, 4, batch(5))
  assert.deepEqual(await linesOf(store, 'r'), batch(1, 5).lines)
  await store.close()
})

for (const [statement, code] of [
  ['begin immediate', busy],
  ['begin immediate', broken],
  ['select runs.id as run_id', busy],
  ['select runs.id as run_id', broken],
  ['insert into entries', broken],
  ['delete from runs', broken],
  ['savepoint job', broken],
  ['release job', broken],
  ['rollback to job', broken],
  ['commit', broken],
] as const) {
  for (const time of [1, 5]) {
    test(`a SQLite store has exactly the acknowledged entries if "${statement}" fails with code ${code}, time ${time}`, async (context) => {
      await using folder = await temporaryFolder()
      const path = join(folder.path, 'runs.db')
      const stores = [await sqliteStore(path), await sqliteStore(path)] as const
      const outdated = await started(stores[0], 'outdated')
      await stores[0].append(outdated, 1, batch(2))
      const runs = [await started(stores[0], 'a'), await started(stores[1], 'b')].map((lease) => ({ lease, last: 1 }))
      const failed = failOnce(context, statement, code, time)
      for (let round = 0; round < 12; round++) {
        const store = stores[round % 3 === 0 ? 0 : 1]
        // a refused write, so that the others are repeated with savepoints
        const writes = [
          store.append(outdated, 1, batch(2)),
          ...runs.map(({ lease, last }) => store.append(lease, last, batch(last + 1, 20))),
        ]
        const results = await Promise.allSettled(writes)
        for (const [index, run] of runs.entries()) {
          if (results[index + 1]?.status === 'fulfilled') run.last += 20
          const reader = stores[round % 2 === 0 ? 0 : 1]
          const seqs = await seqsOf(reader, run.lease.run).catch(() => seqsOf(reader, run.lease.run))
          assert.equal(seqs.length, run.last)
        }
        await makeAndDelete(store, `r${round}`).catch(() => undefined)
      }
      for (const { lease, last } of runs) {
        for (const store of stores) assert.deepEqual(await linesOf(store, lease.run), batch(1, last).lines)
        assert.ok(last > 200, `${last} entries: the connection did not continue`)
      }
      assert.ok(failed())
      for (const store of stores) await store.close()
    })
  }
}

async function makeAndDelete(store: Store, run: string): Promise<void> {
  await store.release(await started(store, run))
  await store.delete(run)
}

/**
 * Makes a statement with this beginning fail at the given time, instead of its effect or after it. Returns whether it
 * failed.
 */
function failOnce(context: TestContext, begin: string, code: number, time = 1, when = 'in its place'): () => boolean {
  let times = 0
  for (const method of ['get', 'all', 'run'] as const) {
    const original = StatementSync.prototype[method] as (...values: unknown[]) => never
    // not by a mock, which would keep every call
    StatementSync.prototype[method] = function (this: StatementSync, ...values: unknown[]) {
      const fails = this.sourceSQL.startsWith(begin) && ++times === time
      if (fails && when === 'after it') original.apply(this, values)
      if (fails) throw Object.assign(new Error(`code ${code}`), { errcode: code })
      return original.apply(this, values)
    }
  }
  context.after(() => Object.defineProperties(StatementSync.prototype, unbroken))
  return () => times >= time
}
