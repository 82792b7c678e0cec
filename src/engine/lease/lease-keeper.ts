// Keeps the leases of a process alive, all of them in one call, and knows how long each still lasts. The store's clock
// judges expiry for others; the holder counts for itself, monotonically, from before each request, so that it never
// believes in a lease longer than the store does. A monotonic clock may stop while a machine sleeps, so the time of day
// counts too when it says that more time has passed. Time alone loses no lease: while the store is away nothing new is
// started, and when it is back a lease that nobody took is renewed, even past its expiry.
import { messageOf, RepriseError } from '../../base/errors.ts'
import { isOutage } from '../../stores/patient/patience.ts'
import type { Lease } from '../../stores/store.ts'
import type { World } from '../definition.ts'
import { currentMoment, type Moment } from '../moment.ts'
import type { DirectStore } from '../../stores/patient/patient-store.ts'

export interface LeaseKeeper {
  keep(lease: TimedLease, hear: LeaseListener): KeptLease
}

/**
 * A lease, and the moment before it was requested: it lasts from then on, however late the reply came. Made by
 * `requestLease` alone, so that no lease is believed in from when it was handed over.
 */
export interface TimedLease extends Lease {
  readonly since: Moment
}

type Clock = Pick<World, 'now' | 'monotonic'>

export async function requestLease<T extends Lease | undefined>(
  clock: Clock,
  request: () => Promise<T>,
): Promise<TimedLease | Exclude<T, Lease>> {
  const since = currentMoment(clock)
  const lease = await request()
  return lease ? { ...lease, since } : (lease as Exclude<T, Lease>)
}

export async function requestLeases(clock: Clock, request: () => Promise<readonly Lease[]>): Promise<TimedLease[]> {
  const since = currentMoment(clock)
  return (await request()).map((lease) => ({ ...lease, since }))
}

/** A lease without a moment, as from a user's own claim, may be of any age: it is renewed before it is relied on. */
export function asTimedLease(lease: Lease | TimedLease): TimedLease {
  return 'since' in lease ? lease : { ...lease, since: { monotonic: -Infinity, day: -Infinity } }
}

export interface LeaseListener {
  /** Called once, when the store says that the lease is somebody else's, or cannot be asked any more. */
  lost(error: RepriseError): void
  /** How many messages wait for the unit, after each renewal. */
  waiting(messages: number): void
}

export interface KeptLease {
  /**
   * Resolves when enough of the lease is left to start an effect. Waits while the store is away. LEASE_LOST when
   * somebody else has it.
   */
  ready(signal: AbortSignal): Promise<void>
  stop(): void
}

interface LeaseRecord extends LeaseListener {
  readonly lease: Lease
  asked: Moment
  gone?: RepriseError
}

export function leaseKeeper(store: DirectStore, world: World): LeaseKeeper {
  const third = world.leaseMs / 3
  const all = new Set<LeaseRecord>()
  let timer: Disposable | undefined
  let renewing: { readonly since: number; readonly answer: Promise<void> } | undefined
  let renewed = Promise.withResolvers<void>()

  const left = ({ asked }: LeaseRecord): number => {
    const now = currentMoment(world)
    return world.leaseMs - Math.max(now.monotonic - asked.monotonic, now.day - asked.day)
  }

  const stop = (kept: LeaseRecord): void => {
    all.delete(kept)
    if (all.size > 0) return
    timer?.[Symbol.dispose]()
    timer = undefined
  }

  const lose = (kept: LeaseRecord, why: string): void => {
    if (kept.gone) return
    kept.gone = leaseLost(kept.lease, why)
    stop(kept)
    kept.lost(kept.gone)
  }

  const renewAll = async (): Promise<void> => {
    const before = currentMoment(world)
    const asked = [...all]
    const answer = await store.renew(
      asked.map(({ lease }) => lease),
      world.leaseMs,
    )
    const answers = new Map(answer.map((one) => [one.lease.id, one]))
    // one that was given back meanwhile isn't lost
    for (const kept of asked.filter((one) => all.has(one))) {
      const waiting = answers.get(kept.lease.id)?.waiting
      if (waiting === undefined) lose(kept, 'another process took it over')
      else {
        // a later call may have been answered before this one
        if (before.monotonic >= kept.asked.monotonic) kept.asked = before
        kept.waiting(waiting)
      }
    }
    renewed.resolve()
    renewed = Promise.withResolvers()
  }

  /**
   * One call at a time: whoever comes while it is made waits for it. But one over a connection that hangs may have no
   * answer for longer than the lease lasts, while the next one gets through.
   */
  const renew = (): Promise<void> => {
    const now = world.monotonic()
    if (renewing && now - renewing.since < third / 2) return renewing.answer
    const mine = { since: now, answer: renewAll().finally(() => renewing === mine && (renewing = undefined)) }
    renewing = mine
    return mine.answer
  }

  const renewInTime = (): void => {
    timer = world.timer(third, () => {
      renewInTime()
      // one that fails is tried again: by the next turn, and before anything new is started
      void renew().catch(() => undefined)
    })
  }

  const ready = async (kept: LeaseRecord, signal: AbortSignal): Promise<void> => {
    for (let tries = 0; !kept.gone && left(kept) < third; tries++) {
      try {
        await Promise.race([renew(), renewed.promise])
      } catch (error) {
        if (!isOutage(error) && left(kept) < 0) lose(kept, `it could not be renewed: ${messageOf(error)}`)
      }
      if (!kept.gone && left(kept) < third) await world.sleep(Math.min(2_000, 50 * 2 ** tries), signal)
    }
    if (kept.gone) throw kept.gone
  }

  return {
    keep(lease, hear) {
      const kept: LeaseRecord = { lease, asked: lease.since, lost: hear.lost, waiting: hear.waiting }
      all.add(kept)
      if (!timer) renewInTime()
      return { ready: (signal) => ready(kept, signal), stop: () => stop(kept) }
    },
  }
}

function leaseLost(lease: Lease, why: string): RepriseError {
  return new RepriseError(
    'LEASE_LOST',
    `this process no longer holds run ${lease.run}: ${why}; nothing more was written, and the run continues where it is held`,
    { runId: lease.run },
  )
}
