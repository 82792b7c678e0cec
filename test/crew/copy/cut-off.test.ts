// A copy can be cut off at any moment: nothing that is there in part is taken for a run, and copying again completes it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyRuns } from 'reprise'
import { journalVersion } from 'reprise/journal'
import { faultyStore, jumpingClock, nthCall, type StoreCallName } from 'reprise/testing'
import { memoryStore, type Store } from 'reprise/stores'
import { exportRun } from '../../../src/engine/history/export-run.ts'
import { compareRuns } from '../../../src/engine/history/copy/compare-runs.ts'
import { thisOwner } from '../../../src/stores/owner.ts'
import { newStore } from '../../engine/support.ts'
import { claims, everyKind, mortal } from './copy-support.ts'
import { everythingIn } from './everything.ts'

const lanes = [{ crew: 'claims', version: '', format: journalVersion }]

/** Gives back what it takes. */
async function offered(store: Store): Promise<string[]> {
  const leases = await store.claim(thisOwner(), 30_000, lanes, { limit: 100 })
  for (const lease of leases) await store.release(lease)
  return leases.map(({ run }) => run)
}

async function unitOf(store: Store, root: string): Promise<string[]> {
  return (await store.list({ root }, { limit: 10 })).rows.map(({ run }) => run)
}

test('after a death at any write, only whole runs are offered to workers there, and copying again gives the same as one copy', async () => {
  const source = newStore()
  await everyKind(source)
  const expected = await everythingIn(source)
  let deaths = 0
  for (let writes = 1; ; writes++) {
    const clock = jumpingClock()
    const target = memoryStore({ now: clock.now, url: `memory:cut-${writes}` })
    const dying = mortal(target, writes)
    await copyRuns(source, dying, { concurrency: 1 }).catch((error: unknown) => assert.match(String(error), /is dead/))
    if (!dying.died()) break
    deaths += 1
    // its lease expires
    clock.jump(60_000)
    for (const root of await offered(target)) {
      // one entry cannot be held back: its message may come late, and is not lost
      if (root === 'queued and told') continue
      for (const run of await unitOf(source, root)) {
        assert.deepEqual(await compareRuns(source, target, run), { is: 'same' }, `${run}, after ${writes} writes`)
        assert.deepEqual(await target.inbox(run), await source.inbox(run))
      }
    }
    const { runs } = await copyRuns(source, target)
    assert.deepEqual(new Set(runs.map(({ outcome }) => outcome)).difference(new Set(['copied', 'present'])), new Set())
    assert.deepEqual(await everythingIn(target), expected, `after ${writes} writes`)
  }
  // create and finish each, and pieces, messages and releases
  assert.ok(deaths > 15, `${deaths} deaths`)
})

const names: readonly StoreCallName[] = ['create', 'append', 'post', 'acquire', 'release', 'row', 'inbox', 'read']
for (const fault of ['unavailable', 'reply lost'] as const) {
  test(`a call of the other store that is ${fault} makes no difference to a copy, whichever it is`, async () => {
    const source = newStore()
    await everyKind(source)
    const expected = await everythingIn(source)
    for (const name of names) {
      const target = newStore()
      // the second one is in the middle of something
      const { runs } = await copyRuns(source, faultyStore(target, nthCall(name, 2, fault)))
      assert.ok(runs.every(({ outcome }) => outcome === 'copied'))
      assert.deepEqual(await everythingIn(target), expected, name)
    }
  })
}

test('a run that is there in part is not offered, resumed, advanced or exported, and a list says why', async () => {
  const source = newStore()
  const clock = jumpingClock()
  const target = memoryStore({ now: clock.now, url: 'memory:in-part' })
  await everyKind(source)
  // the first batch of the only run that is chosen, and then nothing
  const dying = mortal(target, 1)
  await assert.rejects(copyRuns(source, dying, { runs: ['long'] }), /is dead/)
  clock.jump(60_000)
  const [lease] = await target.claim(thisOwner(), 30_000, lanes, { limit: 10 })
  assert.equal(lease, undefined)
  const crew = claims(target)
  const refusal = {
    code: 'JOURNAL_DAMAGED',
    message: /run long is only partly in memory:in-part.*copy it there again/,
  }
  await assert.rejects(crew.resume('long'), refusal)
  assert.equal((await crew.advance('long')).is, 'other')
  await assert.rejects(Array.fromAsync(exportRun(target, 'long')), refusal)
  const [listed] = await Array.fromAsync(crew.runs())
  assert.deepEqual(
    [listed?.status, listed?.why],
    ['stopped', 'it is only partly there: it is being copied from another store, or that was interrupted'],
  )
  const { runs } = await copyRuns(target, newStore())
  assert.deepEqual([runs.length, runs[0]?.outcome], [1, 'refused'])
  assert.match(runs[0]?.error?.message ?? '', refusal.message)
})
