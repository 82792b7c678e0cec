// How long a process trusts its leases, by two clocks, and how it renews them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { World } from '../../src/engine/definition.ts'
import { leaseKeeper, requestLease, type LeaseKeeper, type TimedLease } from '../../src/engine/lease/leased-tree.ts'
import { realWorld } from '../../src/engine/world.ts'
import { RepriseError } from '../../src/base/errors.ts'
import type { Lease, RenewedLease, Store } from '../../src/stores/store.ts'
import { newStore } from './support.ts'

const leaseMs = 30_000
const never = new AbortController().signal

interface Scene {
  readonly keeper: LeaseKeeper
  readonly clocks: { monotonic: number; day: number }
  readonly world: World
  /** The runs of each renewal. */
  readonly renewals: string[][]
}

function scene(renew: (leases: readonly Lease[]) => Promise<RenewedLease[]> = asAsked): Scene {
  const clocks = { monotonic: 1_000, day: Date.UTC(2026, 0, 1) }
  const world: World = {
    ...realWorld(),
    leaseMs,
    monotonic: () => clocks.monotonic,
    now: () => new Date(clocks.day),
    sleep: async (ms) => void ((clocks.monotonic += ms), (clocks.day += ms)),
  }
  const renewals: string[][] = []
  const store: Store = {
    ...newStore(),
    renew: (leases) => {
      renewals.push(leases.map(({ run }) => run))
      return renew(leases)
    },
  }
  return { keeper: leaseKeeper(store, world), clocks, world, renewals }
}

async function asAsked(leases: readonly Lease[]): Promise<RenewedLease[]> {
  return leases.map((lease) => ({ lease, waiting: 0 }))
}

const leaseOf = (run: string, world: World): Promise<TimedLease> =>
  requestLease(world, async () => ({ run, token: 1, id: `${run}-1`, owner: world.owner }))

const deaf = { lost: () => {}, renewed: () => {} }

test('an effect that begins while most of the lease is left makes no store call', async () => {
  const { keeper, clocks, world, renewals } = scene()
  const kept = keeper.keep(await leaseOf('r', world), deaf)
  clocks.monotonic += 19_000
  clocks.day += 19_000
  await kept.ready(never)
  assert.deepEqual(renewals, [])
  kept.stop()
})

for (const clock of ['monotonic', 'day'] as const) {
  test(`no effect begins under a lease that has expired by the ${clock} clock before it is renewed`, async () => {
    const { keeper, clocks, world, renewals } = scene()
    const kept = keeper.keep(await leaseOf('r', world), deaf)
    clocks[clock] += 3_600_000
    await kept.ready(never)
    assert.equal(renewals.length, 1)
    await kept.ready(never)
    assert.equal(renewals.length, 1)
    kept.stop()
  })

  test(`no effect begins if another process has taken the run over, by the ${clock} clock`, async () => {
    const { keeper, clocks, world } = scene(async () => [])
    let lost = ''
    const hear = { ...deaf, lost: (error: RepriseError) => void (lost += error.code) }
    const kept = keeper.keep(await leaseOf('r', world), hear)
    clocks[clock] += 3_600_000
    await assert.rejects(kept.ready(never), { code: 'LEASE_LOST', message: /another process took it over/ })
    assert.equal(lost, 'LEASE_LOST')
  })

  test(`a lease is renewed after its end when the store is back, and no effect begins before, by the ${clock} clock`, async () => {
    let away = 3
    const { keeper, clocks, world, renewals } = scene((leases) => {
      if (away-- > 0) return Promise.reject(new RepriseError('STORE_UNAVAILABLE', 'no connection'))
      return asAsked(leases)
    })
    const kept = keeper.keep(await leaseOf('r', world), deaf)
    clocks[clock] += 3_600_000
    await kept.ready(never)
    assert.equal(renewals.length, 4)
    kept.stop()
  })

  test(`no effect begins if a store cannot renew the lease and its time is up by the ${clock} clock`, async () => {
    const { keeper, clocks, world } = scene(() => Promise.reject(new Error('the disk is gone')))
    const kept = keeper.keep(await leaseOf('r', world), deaf)
    clocks[clock] += leaseMs + 1
    await assert.rejects(kept.ready(never), { code: 'LEASE_LOST', message: /could not be renewed: the disk is gone/ })
  })
}

test('an unanswered renewal blocks no later one, and its late answer changes nothing in that one', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const hanging = Promise.withResolvers<void>()
  const { keeper, clocks, world, renewals } = scene(async (leases) => {
    if (renewals.length === 1) await hanging.promise
    return asAsked(leases)
  })
  const pass = (ms: number): void => {
    clocks.monotonic += ms
    clocks.day += ms
    t.mock.timers.tick(ms)
  }
  const kept = keeper.keep(await leaseOf('r', world), deaf)
  pass(leaseMs / 3)
  assert.equal(renewals.length, 1)
  pass(leaseMs / 3)
  assert.equal(renewals.length, 2)
  await turn()
  hanging.resolve()
  await turn()
  clocks.monotonic += leaseMs / 3 + 1
  await kept.ready(never)
  assert.equal(renewals.length, 2)
  kept.stop()
})

test('no effect begins under a lease that expired during sleep, even if this process has not noticed', async () => {
  const { keeper, clocks, world, renewals } = scene()
  const lease = await leaseOf('r', world)
  clocks.day += 3_600_000
  const kept = keeper.keep(lease, deaf)
  await kept.ready(never)
  assert.equal(renewals.length, 1)
  kept.stop()
})

test('a wall clock that is set back does not change the other clock', async () => {
  const { keeper, clocks, world, renewals } = scene()
  const kept = keeper.keep(await leaseOf('r', world), deaf)
  clocks.day -= 86_400_000
  clocks.monotonic += leaseMs - 1
  await kept.ready(never)
  assert.equal(renewals.length, 1)
  kept.stop()
})

test('all leases of a process are renewed in one call, which returns the number of waiting messages of each', async () => {
  const { keeper, clocks, world, renewals } = scene(async (leases) =>
    leases.map((lease) => ({ lease, waiting: lease.run === 'b' ? 2 : 0 })),
  )
  const heard: string[] = []
  const leases = await Promise.all(['a', 'b', 'c'].map((run) => leaseOf(run, world)))
  const all = leases.map((lease) =>
    keeper.keep(lease, {
      ...deaf,
      renewed: (messages) => void heard.push(`${lease.run} ${messages}`),
    }),
  )
  all[2]?.stop()
  clocks.monotonic += leaseMs
  await Promise.all(all.slice(0, 2).map((kept) => kept.ready(never)))
  assert.deepEqual(renewals, [['a', 'b']])
  assert.deepEqual(heard, ['a 0', 'b 2'])
  for (const kept of all) kept.stop()
})

test('a lease is kept where a timer is a number, as in browsers and Workers', async (context) => {
  context.mock.method(globalThis, 'setTimeout', () => 7)
  const cleared = context.mock.method(globalThis, 'clearTimeout', () => {})
  const { keeper, world } = scene()
  keeper.keep(await leaseOf('r', world), deaf).stop()
  assert.deepEqual(cleared.mock.calls[0]?.arguments, [7])
})
