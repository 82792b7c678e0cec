// For dispatchers, such as an external queue: listing ready runs, and claiming one of them by id.
import assert from 'node:assert/strict'
import { currentOwner } from '../../stores/owner.ts'
import type { Lane, ReadyRun, ClaimLimits, RunId, Store, Owner } from '../../stores/store.ts'
import {
  add,
  batch,
  check,
  checkIf,
  claimed,
  deadOwner,
  elsewhere,
  lane,
  message,
  row,
  started,
  ttlMs,
  type StoreUnderTest,
  type Feature,
} from './harness.ts'

const hour = 3_600_000

export function queueContract(under: StoreUnderTest): void {
  check('lists ready runs, each once and up to a limit, without leasing them', under, async ({ store }) => {
    const now = Date.now()
    for (const run of ['a', 'b', 'urgent']) await add(store, run, { priority: run === 'urgent' ? 1 : 0 }, now - 1_000)
    await add(store, 'of version 2', { version: '2' }, now - 1_000)
    await add(store, 'of another crew', { crew: 'letters' }, now - 1_000)
    await add(store, 'later', {}, now + hour)
    await add(store, 'not due', {})
    await add(store, 'messaged', { status: 'suspended' })
    await store.post('messaged', message('m'))
    const held = await started(store, 'held', elsewhere('box1'))
    await store.create(row('held/a#1'), batch(1, 1, { due: 'now' }), held)
    const second = { ...lane, version: '2' }
    assert.deepEqual((await readyRuns(store)).toSorted(), ['a', 'b', 'messaged', 'urgent'])
    for (const limit of [-1, 0, 1, 3]) {
      const some = await readyRuns(store, [lane, lane], limit)
      assert.deepEqual([some.length, new Set(some).size], [Math.max(0, limit), Math.max(0, limit)])
    }
    const all = ['a', 'b', 'messaged', 'of version 2', 'urgent']
    assert.deepEqual((await readyRuns(store, [lane, second, lane], Infinity)).toSorted(), all)
    assert.deepEqual([await readyRuns(store, [second]), await readyRuns(store, [])], [['of version 2'], []])
    assert.deepEqual((await claimed(store, 10, currentOwner(), [lane, second])).toSorted(), all)
    assert.deepEqual(await readyRuns(store, [lane, second]), [])
  })

  check('lists the lane, priority and ready time of each ready run', under, async ({ store }) => {
    const then = Date.now() - 5_000
    await add(store, 'whole', { version: '2', priority: -1 }, then)
    await add(store, 'broken', { crew: 'letters' }, then - 0.5)
    const lanes = [
      { ...lane, version: '2' },
      { ...lane, crew: 'letters' },
    ]
    assert.deepEqual(await readyByName(store, lanes), [
      { run: 'broken', crew: 'letters', version: '1', format: 1, priority: 0, readyAt: then },
      { run: 'whole', crew: 'claims', version: '2', format: 1, priority: -1, readyAt: then },
    ])
  })

  checkIf('order', 'lists ready runs in the order of claims', under, async ({ store }) => {
    const now = Date.now()
    const second = { ...lane, version: '2' }
    await add(store, 'low', { priority: -1 }, now - 9_000)
    await add(store, 'second', { version: '2' }, now - 5_000)
    await add(store, 'first', {}, now - 7_000)
    await add(store, 'third', {}, now - 4_000)
    await add(store, 'urgent, second', { priority: 1 }, now - 1_000)
    await add(store, 'urgent, first', { priority: 1, version: '2' }, now - 2_000)
    const order = ['urgent, first', 'urgent, second', 'first', 'second', 'third', 'low']
    assert.deepEqual(await readyRuns(store, [lane, second]), order)
    assert.deepEqual(await readyRuns(store, [second, lane], 4), order.slice(0, 4))
    assert.deepEqual(await claimed(store, 4, currentOwner(), [second, lane]), order.slice(0, 4))
    assert.deepEqual(await readyRuns(store, [lane, second]), order.slice(4))
  })

  checkIf(
    'clock',
    'keeps the ready time of a run while runs are listed, other runs are claimed and deletions find nothing',
    under,
    async ({ store, pass }) => {
      for (const run of ['due', 'messaged', 'tried', 'other']) await add(store, run, {}, 'now')
      await store.post('messaged', message('m'))
      for (const _ of [1, 2]) {
        const [lease] = await store.claim(currentOwner(), ttlMs, [lane], {
          limit: 1,
          exclude: new Set(['due', 'messaged', 'other']),
        })
        assert.equal(lease?.run, 'tried')
        await store.release(lease)
      }
      pass(2_000)
      const before = await readyByName(store)
      assert.deepEqual(
        before.map(({ run }) => run),
        ['due', 'messaged', 'other', 'tried'],
      )
      pass(1_000)
      const three = new Set(['due', 'messaged', 'tried'])
      assert.deepEqual(await claimed(store, 10, currentOwner(), [lane], { exclude: three }), ['other'])
      const second = [{ ...lane, version: '2' }]
      for (const only of three) assert.deepEqual(await claimed(store, 10, currentOwner(), second, { runId: only }), [])
      assert.equal(await store.post('messaged', message('m')), 'exists')
      for (const run of three) await store.delete(`${run}/a#1`)
      const left = before.filter(({ run }) => run !== 'other')
      assert.deepEqual(await readyByName(store), left)
      await store.post('due', message('m'))
      const [due] = await readyByName(store)
      assert.ok(due && left[0] && due.readyAt > left[0].readyAt)
    },
  )

  checkIf(
    'clock',
    'lists a run whose lease has expired, but a run of a dead process only after a claim',
    under,
    async ({ store, pass }) => {
      await started(store, 'gone', deadOwner())
      await started(store, 'held', elsewhere('a'))
      await started(store, 'released', elsewhere('a')).then((lease) => store.release(lease))
      assert.deepEqual(await readyRuns(store), ['released'])
      pass(ttlMs + 1_000)
      assert.deepEqual((await readyRuns(store)).toSorted(), ['gone', 'held', 'released'])
    },
  )

  checkIf('takeover', 'frees the leases of dead processes by a claim with limit 0', under, async ({ store }) => {
    await started(store, 'gone', deadOwner())
    await started(store, 'released', elsewhere('a')).then((lease) => store.release(lease))
    assert.deepEqual(await store.claim(currentOwner(), ttlMs, [lane], { limit: 0 }), [])
    assert.deepEqual((await readyRuns(store)).toSorted(), ['gone', 'released'])
  })

  check('claims only the requested run, whatever comes before it', under, async ({ store }) => {
    for (const run of ['first', 'asked', 'last']) await add(store, run, {}, 'now')
    await add(store, 'urgent', { priority: 1 }, 'now')
    const [lease, ...more] = await store.claim(elsewhere('a'), ttlMs, [lane], { limit: 10, runId: 'asked' })
    assert.ok(lease)
    assert.deepEqual([lease.run, more, (await store.tries('asked')).tries], ['asked', [], 1])
    await store.append(lease, 1, batch(2))
    assert.deepEqual(await claimOnly(store, 'asked'), [])
    await store.release(lease)
    assert.deepEqual(await claimOnly(store, 'asked', { exclude: new Set(['asked']) }), [])
    assert.deepEqual(await claimed(store, 0, currentOwner(), [lane], { runId: 'asked' }), [])
    assert.deepEqual(await claimOnly(store, 'asked', { exclude: new Set(['first']) }), ['asked'])
    assert.deepEqual((await claimed(store)).toSorted(), ['first', 'last', 'urgent'])
  })

  checkIf(
    'takeover',
    'claims nothing if the requested run is not ready, in another lane, a child run or unknown',
    under,
    async ({ store }) => {
      await add(store, 'other', {}, 'now')
      await add(store, 'not due', {})
      await add(store, 'later', {}, (await store.now()) + hour)
      await add(store, 'ended', { status: 'completed' }, 'now')
      await add(store, 'of version 2', { version: '2' }, 'now')
      await add(store, 'of format 2', { format: 2 }, 'now')
      await add(store, 'of another crew', { crew: 'letters' }, 'now')
      const parent = await started(store, 'parent')
      await store.create(row('parent/a#1'), batch(1, 1, { due: 'now' }), parent)
      await store.release(parent)
      await started(store, 'held', elsewhere('a'))
      const none = [
        'not due',
        'later',
        'ended',
        'of version 2',
        'of format 2',
        'of another crew',
        'parent/a#1',
        'held',
        'unknown',
        '',
      ]
      for (const run of none) assert.deepEqual(await claimOnly(store, run), [], run)
      assert.deepEqual(await claimed(store, 10, currentOwner(), [], { runId: 'other' }), [])
      const lanes = [lane, { ...lane, version: '2' }, { ...lane, version: '2' }]
      assert.deepEqual(await claimed(store, 10, currentOwner(), lanes, { runId: 'of version 2' }), ['of version 2'])
      assert.deepEqual((await claimed(store)).toSorted(), ['other', 'parent'])
    },
  )

  checkIf('takeover', 'claims the requested run from a dead process', under, async ({ store }) => {
    await started(store, 'asked', deadOwner())
    await started(store, 'other', deadOwner())
    assert.deepEqual(await claimOnly(store, 'asked'), ['asked'])
  })

  checkIf(
    'clock',
    'claims the requested run when it is due and when its lease has expired, and later each time without progress',
    under,
    async ({ store, pass }) => {
      await add(store, 'r', {}, (await store.now()) + 60_000)
      assert.deepEqual(await claimOnly(store, 'r'), [])
      pass(61_000)
      for (const tries of [1, 2]) {
        assert.deepEqual([await claimOnly(store, 'r'), (await store.tries('r')).tries], [['r'], tries])
        assert.deepEqual(await claimOnly(store, 'r'), [])
        pass(ttlMs + 500)
      }
      assert.deepEqual(await claimOnly(store, 'r'), [])
      pass(1_600)
      assert.deepEqual(await claimOnly(store, 'r'), ['r'])
    },
  )

  check('grants the requested run to one of many concurrent callers', under, async ({ store }) => {
    for (const run of ['asked', 'other']) await add(store, run, {}, 'now')
    const claims = Array.from({ length: 10 }, (_, index) =>
      claimed(store, 1, elsewhere(`box${index}`), [lane], { runId: 'asked' }),
    )
    assert.deepEqual((await Promise.all(claims)).flat(), ['asked'])
  })
}

async function readyRuns(store: Store, lanes: readonly Lane[] = [lane], limit = 10): Promise<RunId[]> {
  return (await store.ready(lanes, limit)).map(({ run }) => run)
}

async function readyByName(store: Store, lanes: readonly Lane[] = [lane]): Promise<ReadyRun[]> {
  return (await store.ready(lanes, 10)).toSorted((a, b) => (a.run < b.run ? -1 : 1))
}

function claimOnly(store: Store, only: RunId, room: Omit<ClaimLimits, 'limit' | 'runId'> = {}): Promise<RunId[]> {
  return claimed(store, 10, currentOwner(), [lane], { runId: only, ...room })
}

/** Tests of `crewLimit`, the maximum number of held runs of a crew. */
export function crewLimitContract(under: StoreUnderTest): void {
  /** If the store skips both features, the reason for `crewLimit` is shown. */
  const needs = (feature: Feature): Feature => (under.skip?.crewLimit === undefined ? feature : 'crewLimit')

  checkIf('crewLimit', 'claims no more runs of a crew than the limit leaves room for', under, async ({ store }) => {
    for (const run of ['a', 'b', 'c', 'd']) await add(store, run, { status: 'queued' }, 'now')
    const first = await store.claim(elsewhere('a'), ttlMs, [lane], { limit: 1, crewLimit: 3 })
    assert.equal(first.length, 1)
    assert.equal((await claimed(store, 10, elsewhere('b'), [lane], { crewLimit: 3 })).length, 2)
    for (const crewLimit of [3, 1, 0, -1])
      assert.deepEqual(await claimed(store, 10, elsewhere('b'), [lane], { crewLimit }), [])
    for (const lease of first) await store.release(lease)
    assert.equal((await claimed(store, 10, elsewhere('a'), [lane], { crewLimit: 3 })).length, 1)
    assert.equal((await claimed(store, 10, elsewhere('a'), [lane], { crewLimit: Infinity })).length, 1)
  })

  checkIf('crewLimit', 'applies the limit to a claim of one run too', under, async ({ store }) => {
    await started(store, 'held', elsewhere('a'))
    for (const run of ['first', 'asked']) await add(store, run, { status: 'queued' }, 'now')
    assert.deepEqual(await claimUpTo(store, 1, { runId: 'asked' }), [])
    assert.deepEqual(await claimUpTo(store, 2, { runId: 'asked' }), ['asked'])
    assert.deepEqual(await claimUpTo(store, 2, { runId: 'first' }), [])
  })

  checkIf('crewLimit', 'counts every lease of the crew, however it was granted', under, async ({ store }) => {
    await started(store, 'created', elsewhere('a'))
    await store.release(await started(store, 'acquired'))
    await store.acquire('acquired', elsewhere('b'), ttlMs)
    const asleep = await started(store, 'asleep', elsewhere('c'))
    await store.append(asleep, 1, batch(2, 1, { row: row('asleep', { status: 'suspended' }) }))
    // a child run is held with its root, and does not count
    await store.create(row('asleep/a#1'), batch(1), asleep)
    await add(store, 'next', { status: 'queued' }, 'now')
    assert.deepEqual(await claimUpTo(store, 3), [])
    assert.deepEqual(await claimUpTo(store, 4), ['next'])
  })

  checkIf(
    'crewLimit',
    'counts runs of the crew in every version and format, and of no other crew',
    under,
    async ({ store }) => {
      for (const [run, fields] of Object.entries({
        a: { version: '2' },
        b: { format: 2 },
        other: { crew: 'letters' },
      })) {
        await store.create(row(run, fields), batch(1, 1, { due: 'now' }), { owner: elsewhere('a'), ttlMs })
      }
      await add(store, 'next', { status: 'queued' }, 'now')
      const letters = { ...lane, crew: 'letters' }
      assert.deepEqual(await claimUpTo(store, 2), [])
      assert.deepEqual(await claimed(store, 10, currentOwner(), [lane, letters], { crewLimit: 3 }), [])
      assert.deepEqual(await claimUpTo(store, 3), ['next'])
    },
  )

  checkIf('crewLimit', 'counts a run for the crew that its newest row names', under, async ({ store }) => {
    const lease = await started(store, 'moved', elsewhere('a'))
    await store.append(lease, 1, batch(2, 1, { row: row('moved', { crew: 'letters' }), due: 'now' }))
    await add(store, 'next', { status: 'queued' }, 'now')
    assert.deepEqual(
      await claimed(store, 10, currentOwner(), [lane, { ...lane, crew: 'letters' }], { crewLimit: 1 }),
      [],
    )
    assert.deepEqual(await claimUpTo(store, 1), ['next'])
  })

  checkIf(needs('clock'), 'counts no expired leases, except those of excluded runs', under, async ({ store, pass }) => {
    for (const run of ['a', 'b']) await started(store, run, elsewhere('a'))
    pass(ttlMs + 1)
    await add(store, 'next', { status: 'queued', priority: 1 }, 'now')
    assert.deepEqual(await claimUpTo(store, 2, { exclude: new Set(['a', 'b']) }), [])
    assert.deepEqual(await claimUpTo(store, 2, { exclude: new Set(['a', 'of another store']) }), ['next'])
    assert.deepEqual(await claimUpTo(store, 2, { exclude: new Set(['next']) }), ['a'])
  })

  checkIf(needs('takeover'), 'counts no leases of dead processes', under, async ({ store }) => {
    await started(store, 'a', deadOwner())
    assert.deepEqual(await claimUpTo(store, 1), ['a'])
  })

  checkIf('crewLimit', 'is never exceeded by concurrent claims', under, async ({ store }) => {
    for (let index = 0; index < 20; index++) await add(store, `r${index}`, { status: 'queued' }, 'now')
    const ask = async (owner: Owner): Promise<number> =>
      (await claimed(store, 4, owner, [lane], { crewLimit: 7 })).length
    const counts = await Promise.all(Array.from({ length: 10 }, (_, index) => ask(elsewhere(`box${index}`))))
    assert.equal(
      counts.reduce((sum, each) => sum + each, 0),
      7,
    )
  })
}

function claimUpTo(store: Store, crewLimit: number, limits: Omit<ClaimLimits, 'limit'> = {}): Promise<RunId[]> {
  return claimed(store, 10, currentOwner(), [lane], { crewLimit, ...limits })
}
