// Renews all leases of a process in one call, and knows how long each still lasts. Other processes see expiry by the
// store's clock. The holder measures from before each request, so it never trusts a lease longer than the store does.
// It takes the larger of monotonic time and time of day, since a monotonic clock may stop while the machine sleeps.
// Time alone loses no lease: during an outage nothing new is started, and afterwards a lease that no other process took
// is renewed, even past its expiry.
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
 * A lease, and the moment before it was requested, from which it lasts. Only `requestLease` makes one, so that no lease
 * is measured from a later moment.
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

/** A lease without a moment, as from a user's own claim, may be of any age: it is renewed before its first use. */
export function asTimedLease(lease: Lease | TimedLease): TimedLease {
  return 'since' in lease ? lease : { ...lease, since: { monotonic: -Infinity, day: -Infinity } }
}

export interface LeaseListener {
  /** Called once, when another process has the lease or it could not be renewed. */
  lost(error: RepriseError): void
  /** Called after each renewal with the number of messages for the run tree. */
  waiting(messages: number): void
}

export interface KeptLease {
  /**
   * Resolves when enough of the lease is left to start an effect. Waits out an outage of the store. LEASE_LOST if
   * another process has it.
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
    // a lease released meanwhile isn't lost
    for (const kept of asked.filter((one) => all.has(one))) {
      const waiting = answers.get(kept.lease.id)?.waiting
      if (waiting === undefined) lose(kept, 'another process took it over')
      else {
        // a later renewal may have been answered first
        if (before.monotonic >= kept.asked.monotonic) kept.asked = before
        kept.waiting(waiting)
      }
    }
    renewed.resolve()
    renewed = Promise.withResolvers()
  }

  /**
   * Callers share a renewal in progress, unless it has taken too long: on a hanging connection it may outlast the
   * lease, while a new call gets through.
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
      // a failed renewal is retried by the next timer, and before anything new is started
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
