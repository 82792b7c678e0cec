// Keeps a lease alive and knows how long it still lasts. The store's clock judges expiry for others; the holder counts
// for itself, monotonically, from before each request, so that it never believes in a lease longer than the store does.
// A monotonic clock may stop while a machine sleeps, so the time of day counts too when it says that more time has
// passed.
import { RepriseError } from '../../errors.ts'
import type { Lease, Store } from '../../stores/store.ts'
import type { World } from '../definition.ts'

export interface LeaseKeeper {
  /** Resolves when enough of the lease is left to start an effect; LEASE_LOST otherwise. */
  ready(): Promise<void>
  stop(): void
}

/** Renews every third of the lease; `lost` is called once when it cannot be kept. `since` is when it was asked for. */
export function keepLease(
  store: Store,
  lease: Lease,
  world: World,
  since: Moment,
  lost: (error: RepriseError) => void,
): LeaseKeeper {
  const third = world.leaseMs / 3
  let asked = since
  let gone: RepriseError | undefined

  const left = (): number => {
    const now = momentOf(world)
    return world.leaseMs - Math.max(now.monotonic - asked.monotonic, now.day - asked.day)
  }

  const lose = (why: string): RepriseError => {
    if (!gone) {
      gone = leaseLost(lease, why)
      clearInterval(timer)
      lost(gone)
    }
    return gone
  }

  const renew = async (): Promise<void> => {
    if (gone) return
    const before = momentOf(world)
    try {
      const kept = await store.renew([lease], world.leaseMs)
      if (kept.length === 0) lose('another process took it over')
      else asked = before
    } catch {
      // the store may answer again before the lease expires; until then nothing is lost
      if (left() < 0) lose('it could not be renewed in time')
    }
  }

  const timer = setInterval(() => void renew(), third)
  // where timers are those of browsers, as in older Workers, it is a number
  ;(timer as Partial<NodeJS.Timeout>).unref?.()

  return {
    async ready() {
      if (left() < third) await renew()
      if (gone) throw gone
      if (left() < third) throw lose('it could not be renewed in time')
    },
    stop: () => clearInterval(timer),
  }
}

/** By both clocks. */
export interface Moment {
  readonly monotonic: number
  /** By the time of day, which people and machines set. */
  readonly day: number
}

export function momentOf(world: World): Moment {
  return { monotonic: world.monotonic(), day: world.now().getTime() }
}

function leaseLost(lease: Lease, why: string): RepriseError {
  return new RepriseError(
    'LEASE_LOST',
    `this process no longer holds run ${lease.run}: ${why}; nothing more was written, and the run continues where it is held`,
    { runId: lease.run },
  )
}
