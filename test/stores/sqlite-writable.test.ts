// Reasons why a run that a connection has just appended to refuses its next append.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { sqliteStore, currentOwner, type Lease, type Store } from 'reprise/stores'
import type { ErrorCode } from '../../src/base/errors.ts'
import { batch, refused, row, seqsOf, started, ttlMs } from '../../src/testing/store-contract/harness.ts'
import { ended, otherProcess } from './other-process.ts'
import { temporaryFolder } from './temporary-folder.ts'

interface Change {
  readonly what: string
  readonly refusal: ErrorCode
  /** Does it through one connection; the run is at entry 2. */
  readonly make: (store: Store, lease: Lease) => Promise<unknown>
}

const changes: readonly Change[] = [
  { what: 'was taken over', refusal: 'LEASE_LOST', make: (store) => store.acquire('r', currentOwner(), ttlMs) },
  {
    what: 'was claimed',
    refusal: 'LEASE_LOST',
    async make(store, lease) {
      await store.release(lease)
      assert.equal(
        (await store.claim(currentOwner(), ttlMs, [{ crew: 'claims', version: '1', format: 1 }], { limit: 1 })).length,
        1,
      )
    },
  },
  { what: 'was given back', refusal: 'LEASE_LOST', make: (store, lease) => store.release(lease) },
  { what: 'was deleted', refusal: 'LEASE_LOST', make: (store) => store.delete('r') },
  {
    what: 'was deleted and made again',
    refusal: 'LEASE_LOST',
    async make(store) {
      await store.delete('r')
      await started(store, 'r')
    },
  },
  { what: 'went on', refusal: 'SEQ_CONFLICT', make: (store, lease) => store.append(lease, 2, batch(3)) },
]

for (const who of ['the same connection', 'another connection'] as const) {
  for (const { what, refusal, make } of changes) {
    test(`a SQLite store refuses an append to a run that ${what} through ${who}`, async () => {
      await using folder = await temporaryFolder()
      const path = join(folder.path, 'runs.db')
      const store = await sqliteStore(path)
      const other = who === 'the same connection' ? store : await sqliteStore(path)
      const lease = await expired(store)
      await store.append(lease, 1, batch(2))
      await make(other, lease)
      const before = await seqsOf(store, 'r')
      await refused(store.append(lease, 2, batch(3)), refusal)
      assert.deepEqual(await seqsOf(store, 'r'), before)
      await store.close()
      await other.close()
    })
  }
}

test('a SQLite store refuses an append after the end that this connection wrote itself', async () => {
  await using folder = await temporaryFolder()
  const store = await sqliteStore(join(folder.path, 'runs.db'))
  const lease = await started(store, 'r')
  await store.append(lease, 1, batch(2))
  await store.append(lease, 2, batch(3, 1, { row: row('r', { status: 'completed' }) }))
  await refused(store.append(lease, 3, batch(4)), 'RUN_ENDED')
  await store.close()
})

test('a SQLite store continues after entries that another connection appended under the same lease', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const [one, two] = [await sqliteStore(path), await sqliteStore(path)]
  const lease = await started(one, 'r')
  for (let seq = 1; seq < 20; seq++) await (seq % 3 === 0 ? two : one).append(lease, seq, batch(seq + 1))
  assert.equal((await seqsOf(one, 'r')).length, 20)
  await one.close()
  await two.close()
})

test('a SQLite store refuses the appends of a lease that another process has taken over', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'runs.db')
  const store = await sqliteStore(path)
  const lease = await expired(store)
  await store.append(lease, 1, batch(2))
  const child = otherProcess('take', `sqlite:${path}`, 'r')
  child.stdout.resume()
  assert.equal(await ended(child), 0)
  await refused(store.append(lease, 2, batch(3)), 'LEASE_LOST', /token 2/)
  await store.close()
})

/** An expired lease: others may take or delete the run, and the lease can append until they do. */
async function expired(store: Store): Promise<Lease> {
  const { lease } = await store.create(row('r'), batch(1, 1, { due: 'now' }), { owner: currentOwner(), ttlMs: 0 })
  assert.ok(lease)
  return lease
}
