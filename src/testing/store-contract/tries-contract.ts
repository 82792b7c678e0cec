// Runs without progress: growing pauses, counted deaths of their holders, and suspects, which are runs with such a
// death. A process gets one suspect at a time (stores/rules/ready.ts).
import assert from 'node:assert/strict'
import { currentOwner } from '../../stores/owner.ts'
import type { RunId, Store } from '../../stores/store.ts'
import {
  add,
  batch,
  check,
  checkIf,
  claimed,
  deadOwner,
  elsewhere,
  lane,
  row,
  started,
  ttlMs,
  type StoreUnderTest,
} from './harness.ts'

const hour = 3_600_000

export function triesContract(under: StoreUnderTest): void {
  checkIf(
    'clock',
    'offers a run that is claimed without progress later each time, up to 17 minutes, and never gives it up',
    under,
    async ({ store, pass }) => {
      await add(store, 'r', {}, Date.now() - hour)
      assert.equal(await claimAndRelease(store), 'r')
      assert.equal(await claimAndRelease(store), 'r')
      for (let doublings = 0; doublings < 20; doublings++) {
        const least = 1_000 * 2 ** Math.min(doublings, 9)
        pass(least - 500)
        assert.deepEqual(await claimed(store), [], `${least} ms`)
        pass(least + 500)
        assert.equal(await claimAndRelease(store), 'r', `${least} ms`)
      }
      const tried = { tries: 22, deaths: 0 }
      assert.deepEqual([await store.tries('r'), await store.tries('r/a#1')], [tried, tried])
      assert.deepEqual(await store.tries('unknown'), { tries: 0, deaths: 0 })
    },
  )

  checkIf('clock', 'offers runs that were claimed together at different times', under, async ({ store, pass }) => {
    const runs = ['run-1', 'run-2', 'run-3']
    for (const run of runs) await add(store, run, {}, 'now')
    for (let time = 0; time < 2; time++)
      for (const lease of await store.claim(currentOwner(), ttlMs, [lane], { limit: 10 })) await store.release(lease)
    pass(hour)
    const offered = (await store.ready([lane], 10)).map(({ readyAt }) => readyAt)
    assert.equal(new Set(offered).size, runs.length)
  })

  checkIf(
    'clock',
    'counts a death when a lease expires without progress, and corrects it when the holder was only paused',
    under,
    async ({ store, pass }) => {
      await add(store, 'r', {}, 'now')
      const [paused] = await store.claim(elsewhere('a'), ttlMs, [lane], { limit: 1 })
      pass(ttlMs + 1)
      assert.deepEqual(await claimed(store, 1, elsewhere('b')), ['r'])
      assert.deepEqual(await store.tries('r'), { tries: 2, deaths: 1 })
      for (let time = 0; time < 2; time++) {
        assert.equal(await store.release(paused ?? assert.fail()), 0)
        assert.deepEqual(await store.tries('r'), { tries: 2, deaths: 0 })
      }
      pass(ttlMs + 5_000)
      const taken = await store.acquire('r', elsewhere('c'), ttlMs)
      assert.deepEqual(await store.tries('r'), { tries: 2, deaths: 1 })
      await store.release(paused ?? assert.fail())
      assert.deepEqual(await store.tries('r'), { tries: 2, deaths: 1 })
      await store.append(taken, 1, batch(2, 1, { progress: true }))
      assert.deepEqual(await store.tries('r'), { tries: 0, deaths: 0 })
    },
  )

  checkIf(
    'clock',
    'counts no death of a holder that made progress, released the lease, created the run, or acquires it again',
    under,
    async ({ store, pass }) => {
      const left = async (): Promise<number> => {
        pass(ttlMs + hour)
        await store.release(await store.acquire('r', elsewhere('next'), ttlMs))
        return (await store.tries('r')).deaths
      }
      await started(store, 'r', elsewhere('creator'))
      assert.equal(await left(), 0)
      const [lease] = await store.claim(elsewhere('a'), ttlMs, [lane], { limit: 1 })
      await store.append(lease ?? assert.fail(), 1, batch(2, 1, { progress: true }))
      assert.equal(await left(), 0)
      const [refused] = await store.claim(elsewhere('a'), ttlMs, [lane], { limit: 1 })
      await store.release(refused ?? assert.fail())
      assert.equal(await left(), 0)
      await store.acquire('r', elsewhere('a'), ttlMs)
      pass(ttlMs + 1)
      await store.acquire('r', elsewhere('a'), ttlMs)
      assert.equal((await store.tries('r')).deaths, 0)
      assert.equal(await left(), 1)
    },
  )

  checkIf(
    'takeover',
    'counts a death for each run of a dead process, before the leases expire',
    under,
    async ({ store }) => {
      await add(store, 'r', {}, 'now')
      await add(store, 'further', {}, 'now')
      for (const { run, ...lease } of await store.claim(deadOwner(), ttlMs, [lane], { limit: 10 }))
        if (run === 'further') await store.append({ run, ...lease }, 1, batch(2, 1, { progress: true }))
      assert.deepEqual((await claimed(store)).toSorted(), ['further', 'r'])
      assert.deepEqual([(await store.tries('r')).deaths, (await store.tries('further')).deaths], [1, 0])
    },
  )

  checkIf(
    'suspects',
    'offers a suspect again to the owner whose lease of it has expired',
    under,
    async ({ store, pass }) => {
      const suspects = ['s1', 's2']
      for (const run of suspects) await add(store, run, {}, (await store.now()) - hour)
      for (const host of ['dead', 'x']) {
        assert.equal((await store.claim(elsewhere(host), ttlMs, [lane], { limit: 2 })).length, 2)
        pass(ttlMs + 10_000)
      }
      assert.equal((await store.tries('s1')).deaths, 1)
      const again = await store.claim(elsewhere('x'), ttlMs, [lane], { limit: 2 })
      assert.equal(again.length, 1)
      pass(ttlMs + 10_000)
      const only = suspects.find((run) => run !== again[0]?.run) ?? ''
      assert.deepEqual(await claimed(store, 2, elsewhere('x'), [lane], { runId: only }), [only])
    },
  )

  checkIf(
    'suspects',
    'grants an owner at most one suspect, together with other runs, and skips the rest',
    under,
    async ({ store, pass }) => {
      const suspects = ['s1', 's2', 's3']
      for (const run of suspects) await add(store, run, {}, (await store.now()) - hour)
      for (const run of suspects) await store.claim(elsewhere('dead'), ttlMs, [lane], { limit: 1, runId: run })
      pass(ttlMs + 1)
      for (const run of suspects) await store.release(await store.acquire(run, elsewhere('seen'), ttlMs))
      for (const run of ['a', 'b', 'c']) await add(store, run, {}, 'now')
      assert.equal((await store.ready([lane], 10)).length, 6)
      const [first, a] = await store.claim(elsewhere('x'), ttlMs, [lane], { limit: 2 })
      assert.deepEqual([suspects.includes(first?.run ?? ''), suspects.includes(a?.run ?? '')], [true, false])
      const others = suspects.filter((run) => run !== first?.run)
      const only = others[0] ?? ''
      assert.deepEqual(await claimed(store, 1, elsewhere('x'), [lane], { runId: only }), [])
      assert.deepEqual(
        (await claimed(store, 2, elsewhere('x'))).filter((run) => suspects.includes(run)),
        [],
      )
      assert.deepEqual(await claimed(store, 10, elsewhere('y'), [lane], { runId: only }), [only])
      assert.deepEqual(await claimed(store, 10, elsewhere('y')), [])
      await store.append(first ?? assert.fail(), 1, batch(2, 1, { progress: true }))
      assert.deepEqual(await claimed(store, 10, elsewhere('x')), [others[1]])
    },
  )

  for (const run of ['r', 'r/a#1']) {
    check(
      `resets the tries of a run after a step of ${run === 'r' ? 'it' : 'a child run'}, and after no other entry`,
      under,
      async ({ store }) => {
        const lease = await started(store, 'r')
        await store.create(row('r/a#1'), batch(1), lease)
        await store.release(lease)
        await claimAndRelease(store)
        await claimAndRelease(store)
        const again = await store.acquire('r', currentOwner(), ttlMs)
        await store.append(again, 1, batch(2, 1, { run, row: row(run), ...(run === 'r' ? { due: 'now' } : {}) }))
        await store.release(again)
        assert.deepEqual(await claimed(store), [])
        const next = await store.acquire('r', currentOwner(), ttlMs)
        await store.append(next, 2, batch(3, 1, { run, progress: true }))
        await store.release(next)
        assert.deepEqual(await claimed(store), ['r'])
      },
    )
  }
}

async function claimAndRelease(store: Store): Promise<RunId | undefined> {
  const [lease] = await store.claim(currentOwner(), ttlMs, [lane], { limit: 1 })
  if (lease) await store.release(lease)
  return lease?.run
}
