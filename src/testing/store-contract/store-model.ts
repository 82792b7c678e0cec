// Applies random sequences of operations to a store and to the simplest possible model of a store. After every
// operation the results must be equal, and after the last one the contents. An hour later, every run that is due or has
// a message must be ready, and no other.
import assert from 'node:assert/strict'
import type { Batch, RunStatus } from '../../stores/store.ts'
import { check, linesOf, withScene, type Scene, type StoreUnderTest } from './harness.ts'
import { applyClaim, applyOperation, holderOf, waitingIn, type Model } from './model-steps.ts'

/** A root with a child run and a grandchild; another root, of a higher priority. */
export const runIds = ['r1', 'r1/a#1', 'r1/a#1/b#1', 'r/2'] as const
const statuses = ['queued', 'running', 'suspended', 'completed', 'failed', 'cancelled'] as const

export type RunName = (typeof runIds)[number]

export type Operation =
  | {
      readonly do: 'create'
      readonly run: RunName
      readonly lines: Uint8Array[]
      /** A number is an owner that requests a lease; `held` is the newest lease of the root; null is no lease. */
      readonly lease: number | 'held' | null
      readonly due: Due
    }
  | {
      readonly do: 'append'
      readonly run: RunName
      /** Counts back from the newest lease: 0 is the newest, which is valid unless it was released. */
      readonly lease: number
      /** Added to the position after which the append belongs: any value but 0 makes it wrong. */
      readonly off: number
      readonly lines: Uint8Array[]
      readonly row: { readonly status: RunStatus; readonly version: string; readonly due: Due } | null
      readonly progress: boolean
      readonly taken: string[]
    }
  | { readonly do: 'acquire'; readonly run: RunName; readonly owner: number }
  | {
      readonly do: 'claim'
      readonly run: RunName
      readonly owner: number
      readonly versions: readonly string[]
      readonly limit: number
      readonly crewLimit?: number | undefined
      /** Claims only `run`. */
      readonly isOnly?: boolean
    }
  | { readonly do: 'release' | 'renew'; readonly run: RunName; readonly lease: number }
  | { readonly do: 'post'; readonly run: RunName; readonly id: string }
  | { readonly do: 'delete'; readonly run: RunName }
  | { readonly do: 'pass'; readonly run: RunName; readonly ms: number }

/** A number is relative to now. */
type Due = Batch['due'] | null

const hour = 3_600_000

export function modelContract(under: StoreUnderTest): void {
  check('behaves like a plain model under random operations, and loses no wake', under, async () => {
    const fc = await loadFastCheck()
    const operations = fc.array(arbitraryOperation(fc, under), { maxLength: 35, size: 'max' })
    await fc.assert(
      fc.asyncProperty(operations, (steps) =>
        withScene(under, (scene) => compare(scene, steps, under), { still: true }),
      ),
      { numRuns: 60 },
    )
  })
}

function arbitraryOperation(
  fc: typeof import('fast-check'),
  under: StoreUnderTest,
): import('fast-check').Arbitrary<Operation> {
  const run = fc.constantFrom(...runIds)
  const lines = fc.array(
    fc.oneof(
      fc.uint8Array({ maxLength: 20 }),
      fc.json().map((text) => Buffer.from(text)),
    ),
    { minLength: 1, maxLength: 3 },
  )
  const owner = fc.nat({ max: 1 })
  const lease = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 2 }) })
  const id = fc.constantFrom('a', 'b', 'c')
  const due = fc.option(fc.constantFrom('now' as const, 'now' as const, -5_000, 45_000))
  // far from each other and from all times that stores compute, so that no order depends on a millisecond
  const ms = fc.constantFrom(700, 4_300, 31_100, 601_900)
  const status = fc.constantFrom(...statuses)
  const version = fc.constantFrom('1', '1', '2')
  const creating = fc.record({
    do: fc.constant('create' as const),
    run,
    lines,
    lease: fc.option(fc.constantFrom<0 | 1 | 'held'>(0, 1, 'held')),
    due,
  })
  const appending = fc.record({
    do: fc.constant('append' as const),
    run,
    lease,
    off: fc.constantFrom(0, 0, 0, 0, 1, -1),
    lines,
    row: fc.option(fc.record({ status, version, due })),
    progress: fc.boolean(),
    taken: fc.uniqueArray(id, { maxLength: 2 }),
  })
  const claiming = fc.record({
    do: fc.constant('claim' as const),
    run,
    owner,
    versions: fc.constantFrom(['1', '2'], ['1'], ['2']),
    // stores that promise no order get a limit that no claim reaches
    limit: under.skip?.order === undefined ? fc.constantFrom(1, 5) : fc.constant(5),
    crewLimit:
      under.skip?.crewLimit === undefined ? fc.constantFrom(undefined, undefined, 1, 2) : fc.constant(undefined),
    isOnly: fc.constantFrom(true, false, false),
  })
  const weighted: { weight: number; arbitrary: import('fast-check').Arbitrary<Operation> }[] = [
    { weight: 2, arbitrary: creating },
    { weight: 4, arbitrary: appending },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('acquire' as const), run, owner }) },
    { weight: 3, arbitrary: claiming },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('release' as const, 'renew' as const), run, lease }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('post' as const), run, id }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), run }) },
  ]
  const passing = { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), run, ms }) }
  return fc.oneof(...weighted, ...(under.skip?.clock === undefined ? [passing] : []))
}

async function compare(scene: Scene, operations: readonly Operation[], under: StoreUnderTest): Promise<void> {
  const { store } = scene
  const promised = {
    isOrdered: under.skip?.order === undefined,
    isTimed: under.skip?.clock === undefined,
    isolates: under.skip?.suspects === undefined,
  }
  const model: Model = { runs: new Map(), trees: new Map(), leases: new Map(), now: scene.place.now, ...promised }
  for (const operation of operations) await applyOperation(scene, model, operation)
  for (const run of runIds) {
    const expected = model.runs.get(run)
    const found = await linesOf(store, run)
    assert.deepEqual(
      found.map(({ seq, bytes }) => [seq, Buffer.from(bytes).toString('hex')]),
      (expected?.lines ?? []).map((bytes, index) => [index + 1, Buffer.from(bytes).toString('hex')]),
    )
    assert.deepEqual(await store.row(run), expected?.row)
    assert.deepEqual(await store.holder(run), holderOf(model, run))
    assert.deepEqual(await store.inbox(run), waitingIn(expected))
  }
  const { rows } = await store.list({}, { limit: 10 })
  assert.deepEqual(rows.map((found) => found.run).toSorted(), [...model.runs.keys()].toSorted())
  if (under.skip?.clock === undefined) scene.pass(hour)
  await applyClaim(scene, model, { run: 'r1', owner: 0, versions: ['1', '2'], limit: 10 })
}

async function loadFastCheck(): Promise<typeof import('fast-check')> {
  try {
    return await import('fast-check')
  } catch (error) {
    throw new Error('the store contract needs fast-check: npm install --save-dev fast-check', { cause: error })
  }
}
