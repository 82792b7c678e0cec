// How long a process believes in its lease, by two clocks.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { World } from '../../src/engine/definition.ts'
import { keepLease, momentOf, type LeaseKeeper } from '../../src/engine/lease/lease-keeper.ts'
import { realWorld } from '../../src/engine/world.ts'
import type { Lease, Store } from '../../src/stores/store.ts'
import { newStore } from './support.ts'

const leaseMs = 30_000

interface Clocks {
  monotonic: number
  day: number
}

/** `asleep` is how long the machine slept between the request for the lease and its answer. */
function kept(
  renew: (lease: Lease) => Promise<Lease[]>,
  asleep = 0,
): {
  keeper: LeaseKeeper
  clocks: Clocks
  renewals: () => number
} {
  const clocks: Clocks = { monotonic: 1_000, day: Date.UTC(2026, 0, 1) }
  const world: World = {
    ...realWorld(),
    leaseMs,
    monotonic: () => clocks.monotonic,
    now: () => new Date(clocks.day),
  }
  let renewals = 0
  const store: Store = {
    ...newStore(),
    renew: ([lease]) => (renewals++, renew(lease as Lease)),
  }
  const lease: Lease = { run: 'r', token: 1, owner: world.owner }
  const since = momentOf(world)
  clocks.day += asleep
  const keeper = keepLease(store, lease, world, since, () => {})
  return { keeper, clocks, renewals: () => renewals }
}

test('an effect that begins while most of the lease is left asks nobody', async () => {
  const { keeper, clocks, renewals } = kept(async (lease) => [lease])
  clocks.monotonic += 19_000
  clocks.day += 19_000
  await keeper.ready()
  assert.equal(renewals(), 0)
  keeper.stop()
})

for (const clock of ['monotonic', 'day'] as const) {
  test(`nothing begins with a lease that is over by the ${clock} clock before it is renewed`, async () => {
    const { keeper, clocks, renewals } = kept(async (lease) => [lease])
    clocks[clock] += 3_600_000
    await keeper.ready()
    assert.equal(renewals(), 1)
    await keeper.ready()
    assert.equal(renewals(), 1)
    keeper.stop()
  })

  test(`nothing begins when another process took the run over meanwhile, by the ${clock} clock`, async () => {
    const { keeper, clocks } = kept(async () => [])
    clocks[clock] += 3_600_000
    await assert.rejects(keeper.ready(), { code: 'LEASE_LOST', message: /another process took it over/ })
    keeper.stop()
  })

  test(`nothing begins when the store does not answer and the time is up by the ${clock} clock`, async () => {
    const { keeper, clocks } = kept(() => Promise.reject(new Error('no answer')))
    clocks[clock] += leaseMs + 1
    await assert.rejects(keeper.ready(), { code: 'LEASE_LOST', message: /could not be renewed in time/ })
    keeper.stop()
  })
}

test('nothing begins with a lease that ran out while the machine slept, before anybody here knew of it', async () => {
  const { keeper, renewals } = kept(async (lease) => [lease], 3_600_000)
  await keeper.ready()
  assert.equal(renewals(), 1)
  keeper.stop()
})

test('a time of day that is set back takes nothing from the other clock', async () => {
  const { keeper, clocks, renewals } = kept(async (lease) => [lease])
  clocks.day -= 86_400_000
  clocks.monotonic += leaseMs - 1
  await keeper.ready()
  assert.equal(renewals(), 1)
  keeper.stop()
})

test('a lease is kept where a timer is a number, as in browsers and Workers', async (context) => {
  context.mock.method(globalThis, 'setInterval', () => 7)
  const cleared = context.mock.method(globalThis, 'clearInterval', () => {})
  const { keeper } = kept(async (lease) => [lease])
  await keeper.ready()
  keeper.stop()
  assert.deepEqual(cleared.mock.calls[0]?.arguments, [7])
})
