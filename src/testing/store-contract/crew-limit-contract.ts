// `crewLimit`: how many runs of a crew are held at once.
import assert from 'node:assert/strict'
import { currentOwner } from '../../stores/owner.ts'
import type { Owner, ClaimLimits, RunId, Store } from '../../stores/store.ts'
import {
  batch,
  claim,
  claimed,
  deadOwner,
  elsewhere,
  lane,
  row,
  started,
  ttlMs,
  type Feature,
  type StoreUnderTest,
} from './harness.ts'

export function crewLimitContract(under: StoreUnderTest): void {
  /** Skips every test if the store skips `crewLimit`. */
  const limitClaim = (title: string, body: Parameters<typeof claim>[2], feature: Feature = 'crewLimit'): void =>
    claim(title, under, body, under.skip?.crewLimit === undefined ? feature : 'crewLimit')

  limitClaim('claims no more runs of a crew than the limit leaves room for', async ({ store }) => {
    for (const run of ['a', 'b', 'c', 'd']) await wait(store, run)
    const first = await store.claim(elsewhere('a'), ttlMs, [lane], { limit: 1, crewLimit: 3 })
    assert.equal(first.length, 1)
    assert.equal((await claimed(store, 10, elsewhere('b'), [lane], { crewLimit: 3 })).length, 2)
    for (const crewLimit of [3, 1, 0, -1])
      assert.deepEqual(await claimed(store, 10, elsewhere('b'), [lane], { crewLimit }), [])
    for (const lease of first) await store.release(lease)
    assert.equal((await claimed(store, 10, elsewhere('a'), [lane], { crewLimit: 3 })).length, 1)
    assert.equal((await claimed(store, 10, elsewhere('a'), [lane], { crewLimit: Infinity })).length, 1)
  })

  limitClaim('applies the limit to a claim of one run too', async ({ store }) => {
    await started(store, 'held', elsewhere('a'))
    for (const run of ['first', 'asked']) await wait(store, run)
    assert.deepEqual(await claimUpTo(store, 1, { runId: 'asked' }), [])
    assert.deepEqual(await claimUpTo(store, 2, { runId: 'asked' }), ['asked'])
    assert.deepEqual(await claimUpTo(store, 2, { runId: 'first' }), [])
  })

  limitClaim('counts every lease of the crew, however it was granted', async ({ store }) => {
    await started(store, 'created', elsewhere('a'))
    await store.release(await started(store, 'acquired'))
    await store.acquire('acquired', elsewhere('b'), ttlMs)
    const asleep = await started(store, 'asleep', elsewhere('c'))
    await store.append(asleep, 1, batch(2, 1, { row: row('asleep', { status: 'suspended' }) }))
    // a child run is held with its root, and does not count
    await store.create(row('asleep/a#1'), batch(1), asleep)
    await wait(store, 'next')
    assert.deepEqual(await claimUpTo(store, 3), [])
    assert.deepEqual(await claimUpTo(store, 4), ['next'])
  })

  limitClaim('counts runs of the crew in every version and format, and of no other crew', async ({ store }) => {
    for (const [run, fields] of Object.entries({
      a: { version: '2' },
      b: { format: 2 },
      other: { crew: 'letters' },
    })) {
      await store.create(row(run, fields), batch(1, 1, { due: 'now' }), { owner: elsewhere('a'), ttlMs })
    }
    await wait(store, 'next')
    const letters = { ...lane, crew: 'letters' }
    assert.deepEqual(await claimUpTo(store, 2), [])
    assert.deepEqual(await claimed(store, 10, currentOwner(), [lane, letters], { crewLimit: 3 }), [])
    assert.deepEqual(await claimUpTo(store, 3), ['next'])
  })

  limitClaim('counts a run for the crew that its newest row names', async ({ store }) => {
    const lease = await started(store, 'moved', elsewhere('a'))
    await store.append(lease, 1, batch(2, 1, { row: row('moved', { crew: 'letters' }), due: 'now' }))
    await wait(store, 'next')
    assert.deepEqual(
      await claimed(store, 10, currentOwner(), [lane, { ...lane, crew: 'letters' }], { crewLimit: 1 }),
      [],
    )
    assert.deepEqual(await claimUpTo(store, 1), ['next'])
  })

  limitClaim(
    'counts no expired leases, except those of excluded runs',
    async ({ store, pass }) => {
      for (const run of ['a', 'b']) await started(store, run, elsewhere('a'))
      pass(ttlMs + 1)
      await wait(store, 'next', 1)
      assert.deepEqual(await claimUpTo(store, 2, { exclude: new Set(['a', 'b']) }), [])
      assert.deepEqual(await claimUpTo(store, 2, { exclude: new Set(['a', 'of another store']) }), ['next'])
      assert.deepEqual(await claimUpTo(store, 2, { exclude: new Set(['next']) }), ['a'])
    },
    'clock',
  )

  limitClaim(
    'counts no leases of dead processes',
    async ({ store }) => {
      await started(store, 'a', deadOwner())
      assert.deepEqual(await claimUpTo(store, 1), ['a'])
    },
    'takeover',
  )

  limitClaim('is never exceeded by concurrent claims', async ({ store }) => {
    for (let index = 0; index < 20; index++) await wait(store, `r${index}`)
    const ask = async (owner: Owner): Promise<number> =>
      (await claimed(store, 4, owner, [lane], { crewLimit: 7 })).length
    const given = await Promise.all(Array.from({ length: 10 }, (_, index) => ask(elsewhere(`box${index}`))))
    assert.equal(
      given.reduce((sum, each) => sum + each, 0),
      7,
    )
  })
}

function claimUpTo(store: Store, crewLimit: number, limits: Omit<ClaimLimits, 'limit'> = {}): Promise<RunId[]> {
  return claimed(store, 10, currentOwner(), [lane], { crewLimit, ...limits })
}

/** Queues a run. */
async function wait(store: Store, run: RunId, priority: 0 | 1 = 0): Promise<void> {
  await store.create(row(run, { status: 'queued', priority }), batch(1, 1, { due: 'now' }))
}
