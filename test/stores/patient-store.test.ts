// Outages at the level of the port: what a repeated call returns, and when it is abandoned.
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { describe, test } from 'node:test'
import { memoryStore, currentOwner, type Message, type Store } from 'reprise/stores'
import { RepriseError } from 'reprise'
import { faultyStore, onNthCall, type Faults, type FaultyStore } from 'reprise/testing'
import { realClock } from '../../src/base/clock.ts'
import { patientStore, type Patience } from '../../src/stores/patient-store.ts'
import {
  batch,
  elsewhere,
  entry,
  linesOf,
  refused,
  row,
  seqsOf,
  ttlMs,
} from '../../src/testing/store-contract/harness.ts'
import type { Fault, StoreCallName } from '../../src/testing/faulty-store.ts'

interface Scene {
  readonly inner: Store
  readonly faulty: FaultyStore
  readonly store: Store
  readonly told: string[]
  /** How long was waited before each further try. */
  readonly waits: number[]
}

const owner = currentOwner()

/** Time passes only during waits. */
function scene(faults?: Faults, { limitMs, signal }: Partial<Patience> = {}, inner: Store = memoryStore()): Scene {
  const faulty = faultyStore(inner, faults)
  const told: string[] = []
  const waits: number[] = []
  let time = 0
  const clock = {
    ...realClock,
    monotonic: () => time,
    async sleep(ms: number) {
      waits.push(ms)
      time += ms
      await setImmediate()
    },
  }
  return {
    inner,
    faulty,
    store: patientStore(faulty, { limitMs, signal, onOutage: (text) => told.push(text), clock }),
    told,
    waits,
  }
}

const message: Message = { id: 'm', at: '2030-01-01T00:00:00.000Z', body: 'hello' }

const faultsOfOne: readonly Fault[] = [
  'unavailable',
  'reply lost',
  () => {
    throw new RepriseError('OUTCOME_UNKNOWN', 'unknown')
  },
]

for (const fault of faultsOfOne) {
  const what = typeof fault === 'string' ? fault : 'not made, but its outcome unknown'
  describe(`a call that is ${what} happens once in the end:`, () => {
    test('create, with its lease', async () => {
      const { store, inner } = scene(onNthCall('create', 1, fault))
      const { created, lease } = await store.create(row('r'), batch(1, 2), { owner, ttlMs })
      assert.ok(created && lease)
      await store.append(lease, 2, batch(3))
      assert.deepEqual(await seqsOf(inner, 'r'), [1, 2, 3])
    })

    test('append', async () => {
      const { store, inner } = scene(onNthCall('append', 2, fault))
      const { lease } = await store.create(row('r'), batch(1), { owner, ttlMs })
      assert.ok(lease)
      for (const after of [1, 2, 3]) await store.append(lease, after, batch(after + 1))
      assert.deepEqual(await linesOf(inner, 'r'), batch(1, 4).lines)
    })

    test('post', async () => {
      const { store, inner } = scene(onNthCall('post', 1, fault))
      await store.create(row('r'), batch(1))
      assert.equal(await store.post('r', message), 'posted')
      assert.equal(await store.post('r', message), 'exists')
      assert.deepEqual(await inner.inbox('r'), [message])
    })

    test('acquire, renew, release and delete', async () => {
      const { store, inner } = scene(({ nth }) => (nth === 1 ? fault : undefined))
      await store.create(row('r'), batch(1))
      const lease = await store.acquire('r', owner, ttlMs)
      assert.deepEqual(await store.renew([lease], ttlMs), [{ lease, waiting: 0 }])
      await store.append(lease, 1, batch(2))
      await store.release(lease)
      assert.equal(await inner.holder('r'), undefined)
      await store.delete('r')
      assert.equal(await inner.row('r'), undefined)
    })
  })
}

test('every read returns everything, even if it breaks off in the middle', async () => {
  const { store, inner } = scene(({ nth }) => (nth <= 2 ? 'reply lost' : undefined))
  const blob = { hash: 'h', bytes: Buffer.from('x') }
  const outputs = [{ task: 't', fingerprint: 'f', seq: 1 }]
  const { lease } = await inner.create(row('r'), batch(1, 4, { blobs: [blob], outputs }), { owner, ttlMs })
  assert.ok(lease)
  await inner.post('r', message)
  assert.deepEqual(await linesOf(store, 'r'), batch(1, 4).lines)
  assert.deepEqual(await seqsOf(store, 'r', 2), [3, 4])
  assert.equal((await store.row('r'))?.run, 'r')
  assert.equal((await store.list({}, { limit: 5 })).rows.length, 1)
  assert.deepEqual(Buffer.from((await store.blob('r', 'h')) ?? ''), blob.bytes)
  assert.partialDeepStrictEqual(await store.findOutput('claims', 't', 'f'), { run: 'r', seq: 1 })
  assert.deepEqual(await store.inbox('r'), [message])
  assert.deepEqual(await store.holder('r'), owner)
  assert.equal(await store.lastNoted('r'), undefined)
})

describe('a lost reply', () => {
  test('of a create does not claim the run that another process made first', async () => {
    const { store, inner } = scene(onNthCall('create', 1, 'reply lost'))
    await inner.create(row('r'), { lines: [entry(1, 'theirs')] })
    assert.deepEqual(await store.create(row('r'), batch(1), { owner, ttlMs }), { created: false })
  })

  test('of an append that others continued is resolved as written, and the next append is refused', async () => {
    const inner = memoryStore()
    const takeOver = async (): Promise<void> => {
      const lease = await inner.acquire('r', owner, ttlMs)
      await inner.append(lease, 2, batch(3))
    }
    const { store } = scene(onNthCall('read', 1, takeOver), {}, withLost(inner, 'append'))
    const { lease } = await store.create(row('r'), batch(1), { owner, ttlMs })
    assert.ok(lease)
    await store.append(lease, 1, batch(2))
    await refused(store.append(lease, 2, { lines: [entry(3, 'ours')] }), 'LEASE_LOST')
    assert.deepEqual(await linesOf(inner, 'r'), batch(1, 3).lines)
  })

  test('of an append whose place others took is a lost lease', async () => {
    const inner = memoryStore()
    const { store } = scene(
      onNthCall('append', 1, async () => {
        const lease = await inner.acquire('r', owner, ttlMs)
        await inner.append(lease, 1, { lines: [entry(2, 'theirs')] })
        throw new RepriseError('OUTCOME_UNKNOWN', 'unknown')
      }),
      {},
      inner,
    )
    const { lease } = await store.create(row('r'), batch(1), { owner, ttlMs })
    assert.ok(lease)
    await refused(store.append(lease, 1, batch(2)), 'LEASE_LOST', /continued by another process/)
    assert.deepEqual(await seqsOf(inner, 'r'), [1, 2])
  })

  test('of an append that arrives after the tail was read does not write it twice', async () => {
    const inner = memoryStore()
    const { faulty, store } = scene(
      ({ name, nth, args }) => {
        if (name !== 'append') return undefined
        if (nth === 1) return 'unavailable'
        return nth === 2 ? async () => void (await inner.append(...(args as Parameters<Store['append']>))) : undefined
      },
      {},
      inner,
    )
    const { lease } = await store.create(row('r'), batch(1), { owner, ttlMs })
    assert.ok(lease)
    await store.append(lease, 1, batch(2))
    assert.deepEqual(await seqsOf(inner, 'r'), [1, 2])
    assert.deepEqual(faulty.calls, ['create', 'append', 'read', 'append', 'read'])
  })

  test('of a post is posted for the same message, even if recorded meanwhile, and exists for another', async () => {
    for (const [before, recorded, expected] of [
      [message, false, 'posted'],
      [message, true, 'posted'],
      [{ ...message, body: 'another' }, false, 'exists'],
    ] as const) {
      const inner = memoryStore()
      const { lease } = await inner.create(row('r'), batch(1), { owner, ttlMs })
      assert.ok(lease)
      const { store } = scene(
        onNthCall('post', 1, async () => {
          await inner.post('r', before)
          if (recorded) await inner.append(lease, 1, batch(2, 1, { taken: ['m'] }))
          throw new RepriseError('OUTCOME_UNKNOWN', 'unknown')
        }),
        {},
        inner,
      )
      assert.equal(await store.post('r', message), expected)
    }
  })
})

test('acknowledged entries that are gone stop an append, which names them', async () => {
  for (const [kept, words] of [
    [10, /entries 11 to 12 of run r were acknowledged by the store and then lost/],
    [11, /entry 12 of run r was acknowledged by the store and then lost/],
  ] as const) {
    const { lease } = await memoryStore().create(row('r'), batch(1), { owner, ttlMs })
    assert.ok(lease)
    // an older copy of the store, with the same lease
    const older = memoryStore()
    await older.create(row('r'), batch(1, kept), { owner, ttlMs })
    await refused(patientStore(older, { clock: realClock }).append(lease, 12, batch(13)), 'JOURNAL_DAMAGED', words)
    assert.equal((await seqsOf(older, 'r')).length, kept)
  }
})

describe('a refusal is a reply:', () => {
  const refusals: readonly (readonly [StoreCallName, string, (store: Store) => Promise<unknown>])[] = [
    ['acquire', 'RUN_HELD', (store) => store.acquire('r', elsewhere('a'), ttlMs)],
    ['delete', 'RUN_HELD', (store) => store.delete('r')],
    ['post', 'RUN_NOT_FOUND', (store) => store.post('none', message)],
  ]
  for (const [name, code, call] of refusals) {
    test(`${code} of ${name} comes at once, and after an outage`, async () => {
      const { store, faulty } = scene(onNthCall(name, 2, 'unavailable'))
      await store.create(row('r'), batch(1), { owner, ttlMs })
      await assert.rejects(call(store), { code })
      assert.equal(faulty.calls.length, 2)
      await assert.rejects(call(store), { code })
      assert.equal(faulty.calls.length, 4)
    })
  }

  test('other errors of a store are not retried', async () => {
    const { store, faulty } = scene(
      onNthCall('row', 1, () => {
        throw new RepriseError('STORE_FAILED', 'the disk is full')
      }),
    )
    await refused(store.row('r'), 'STORE_FAILED')
    assert.equal(faulty.calls.length, 1)
  })
})

describe('a store that is away', () => {
  test('is awaited as long as it takes, in pauses of at most two seconds, and logged twice', async () => {
    const { store, told, waits } = scene(({ count }) => (count <= 50 ? 'unavailable' : undefined))
    assert.equal(await store.row('r'), undefined)
    assert.equal(waits.length, 50)
    assert.ok(waits.every((ms) => ms > 0 && ms <= 2_000))
    assert.ok((waits[0] ?? 0) < 50 && (waits.at(-1) ?? 0) >= 1_000, 'short at first')
    assert.match(told[0] ?? '', /^the store memory: does not answer \(.*\): waiting for it$/)
    assert.match(told[1] ?? '', /^the store memory: is back after \d\d s$/)
    assert.equal(told.length, 2)
    await store.row('r')
    assert.equal(told.length, 2)
  })

  test('is abandoned at the time limit', async () => {
    const { store, faulty, waits } = scene(undefined, { limitMs: 10_000 })
    faulty.away = true
    await refused(store.row('r'), 'STORE_UNAVAILABLE', /could not be reached for 10 s/)
    assert.equal(Math.round(waits.reduce((sum, ms) => sum + ms, 0)), 10_000)
    faulty.away = false
    assert.equal(await store.row('r'), undefined)
  })

  test('is abandoned soon after the signal, and at once in later calls', async () => {
    const controller = new AbortController()
    const { store, faulty, waits } = scene(
      ({ count }) => {
        if (count === 20) controller.abort()
        return 'unavailable'
      },
      { signal: controller.signal },
    )
    await refused(store.row('r'), 'STORE_UNAVAILABLE')
    const last = waits.slice(19)
    assert.equal(Math.round(last.reduce((sum, ms) => sum + ms, 0)), 2_000)
    const before = faulty.calls.length
    await refused(linesOf(store, 'r'), 'STORE_UNAVAILABLE')
    assert.equal(faulty.calls.length, before + 1)
  })

  test('with hanging calls is abandoned soon after the signal, in the middle of a read too', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const controller = new AbortController()
    const hanging = (): Promise<never> => new Promise(() => {})
    const { store, inner } = scene(({ name }) => (name === 'row' || name === 'read' ? hanging : undefined), {
      signal: controller.signal,
    })
    await inner.create(row('r'), batch(1))
    const asked = [store.row('r'), linesOf(store, 'r')]
    for (const answer of asked) answer.catch(() => {})
    controller.abort()
    context.mock.timers.tick(2_000)
    for (const answer of asked) await refused(answer, 'STORE_UNAVAILABLE', /a call has no answer yet/)
    assert.deepEqual(await store.inbox('r'), [], 'a call that succeeds is not cut short')
    const later = store.row('r')
    context.mock.timers.tick(2_000)
    await refused(later, 'STORE_UNAVAILABLE')
  })

  test('still serves a call made after the signal if it fails only once', async () => {
    const { store } = scene(({ nth }) => (nth === 1 ? 'unavailable' : undefined), { signal: AbortSignal.abort() })
    assert.equal(await store.row('r'), undefined)
  })

  test('is watched again when it is back, with a hint for missed changes', async () => {
    const { store, inner } = scene(({ name, nth }) => (name === 'watch' && nth <= 2 ? 'unavailable' : undefined))
    await inner.create(row('r'), batch(1))
    const ending = new AbortController()
    const hints = store.watch('r', ending.signal)[Symbol.asyncIterator]()
    assert.equal((await hints.next()).done, false)
    const next = hints.next()
    await setImmediate()
    await inner.post('r', message)
    assert.equal((await next).done, false)
    ending.abort()
    assert.equal((await hints.next()).done, true)
  })

  test('is not back because of a hint, which a store may produce without cause', async () => {
    let away = true
    const { store, inner, told } = scene(({ name }) => (name === 'row' && away ? 'unavailable' : undefined))
    const { lease } = await inner.create(row('r'), batch(1), { owner, ttlMs })
    assert.ok(lease)
    const ending = new AbortController()
    const hints = store.watch('r', ending.signal)[Symbol.asyncIterator]()
    const looked = store.row('r')
    while (told.length === 0) await setImmediate()
    await inner.append(lease, 1, batch(2))
    assert.equal((await hints.next()).done, false)
    ending.abort()
    assert.equal((await hints.next()).done, true)
    const meanwhile = [...told]
    away = false
    assert.equal((await looked)?.run, 'r')
    assert.deepEqual([meanwhile.length, told.length], [1, 2], told.join())
  })

  test('is no longer watched once the signal of the watch has aborted', async () => {
    const { store, faulty } = scene()
    faulty.away = true
    const ending = new AbortController()
    const watching = Array.fromAsync(store.watch('r', ending.signal))
    await setImmediate()
    ending.abort()
    assert.deepEqual(await watching, [])
  })
})

/** Loses the reply of the first call of this name. */
function withLost(store: Store, name: StoreCallName): Store {
  return faultyStore(store, onNthCall(name, 1, 'reply lost'))
}
