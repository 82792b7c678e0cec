// However shards are added, and whoever makes runs meanwhile: no run is lost, and none is there twice.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { RepriseError } from 'reprise'
import { memoryStore, shardedStore, type Store } from 'reprise/stores'
import { faultyStore } from '../../../src/testing/faulty-store.ts'
import { batch, row } from '../../../src/testing/store-contract/harness.ts'
import { kindsHere, storePlace } from '../../support/store-place.ts'
import { openWithClock } from '../open-with-clock.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { holdersOf, places } from './shards-under-test.ts'

const ids = ['r', 's', 't', 'u/settle#1', 'u', 'v', 'w']

const deeds = fc.array(
  fc.oneof(
    { weight: 1, arbitrary: fc.record({ do: fc.constant('add' as const), count: fc.integer({ min: 1, max: 2 }) }) },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constantFrom('create' as const, 'create' as const, 'delete' as const),
        run: fc.constantFrom(...ids),
        handle: fc.nat({ max: 3 }),
      }),
    },
  ),
  { maxLength: 40, size: 'max' },
)

test('adding shards loses no run and duplicates none, whoever makes and deletes them by which list', async () => {
  await fc.assert(
    fc.asyncProperty(deeds, async (done) => {
      const all = places('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
      let count = 1
      const handles = [await shardedStore(all.slice(0, count))]
      const there = new Set<string>()
      for (const deed of done) {
        if (deed.do === 'add') {
          count = Math.min(count + deed.count, all.length)
          handles.unshift(await shardedStore(all.slice(0, count)))
        } else if (deed.do === 'create') {
          const made = await (handles[deed.handle] ?? handles[0])?.create(row(deed.run), batch(1)).catch(refusal)
          if (made?.created) assert.ok(!there.has(deed.run), `${deed.run} was made twice`)
          if (made?.created) there.add(deed.run)
        } else {
          await handles[0]?.delete(deed.run)
          for (const run of [deed.run, ...(deed.run === 'u' ? ['u/settle#1'] : [])]) there.delete(run)
        }
        await isAsExpected(handles[0] as Store, all, there)
      }
    }),
    { numRuns: 150 },
  )
})

async function isAsExpected(store: Store, all: readonly Store[], there: ReadonlySet<string>): Promise<void> {
  for (const id of ids) {
    assert.equal((await store.row(id)) !== undefined, there.has(id), id)
    assert.equal((await holdersOf(all, id)).length, there.has(id) ? 1 : 0, id)
  }
  const { rows } = await store.list({}, { limit: 100 })
  assert.deepEqual(rows.map(({ run }) => run).toSorted(), [...there].toSorted())
}

test('handles of different lists that make the same runs at once make none twice, however their calls interleave', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 6 }), { minLength: 200, maxLength: 200 }), async (turns) => {
      let calls = 0
      const stores = ['a', 'b', 'c', 'd'].map((name) => ({
        ...memoryStore({ url: `memory:${name}` }),
        close: async () => {},
      }))
      /** Each call of a handle takes a while to arrive, and its answer to come back. */
      const far = (): Store[] =>
        stores.map((store) =>
          faultyStore(store, () => async () => {
            for (let left = turns[calls++ % turns.length] ?? 0; left > 0; left--) await nextTurn()
          }),
        )
      await raceToMake(far().slice(0, 2), [far().slice(0, 3), far()], stores)
    }),
    { numRuns: 100 },
  )
})

describe('over real stores', async () => {
  for (const { kind, skip } of await kindsHere('sqlite', 'file', 'postgres', 'redis')) {
    test(`handles of different lists that make the same runs at once make none twice: ${kind}`, { skip }, async () => {
      await using folder = await temporaryFolder()
      await using a = await storePlace(kind, join(folder.path, 'a'))
      await using b = await storePlace(kind, join(folder.path, 'b'))
      await using c = await storePlace(kind, join(folder.path, 'c'))
      const open = (): Promise<Store[]> => Promise.all([a, b, c].map(({ url }) => openWithClock(url, Date.now)))
      const [first, second, third] = [await open(), await open(), await open()]
      await raceToMake(first.slice(0, 2), [second], third)
      await Promise.all([...first, ...second, ...third].map((store) => store.close()))
    })
  }
})

/** By an old list, and by lists that are opened meanwhile. */
async function raceToMake(
  old: readonly Store[],
  newer: readonly (readonly Store[])[],
  all: readonly Store[],
): Promise<void> {
  const runs = Array.from({ length: 20 }, (_, index) => `run-${index}`)
  const first = await shardedStore(old)
  /** One after another, so that the old list is in the middle of it when a new one is told. */
  async function make(opening: Promise<Store>, order: readonly string[]): Promise<string[]> {
    const store = await opening
    const made: string[] = []
    for (const run of order) if ((await store.create(row(run), batch(1)).catch(refusal)).created) made.push(run)
    return made
  }
  const backwards = runs.toReversed()
  const made = await Promise.all([
    make(Promise.resolve(first), runs),
    ...newer.map((list) => make(shardedStore(list), backwards)),
  ])
  const times = Object.groupBy(made.flat(), (run) => run)
  for (const run of runs) {
    const places_ = await holdersOf(all, run)
    assert.equal(places_.length, 1, `${run} is in ${places_.join(' and ')}`)
    assert.equal(times[run]?.length, 1, `${run} was made ${times[run]?.length} times`)
  }
}

function refusal(error: unknown): { readonly created: false } {
  // a part of a run that was left behind is in the way of it
  const isRefused = RepriseError.isInstance(error) && ['STORE_INVALID', 'STORE_FAILED'].includes(error.code)
  assert.ok(isRefused, String(error))
  return { created: false }
}
