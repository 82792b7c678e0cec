// Keeps a lease alive and knows how long it still lasts. The store's clock judges expiry for others; the holder counts for
// itself, monotonically, from before each request, so that it never believes in a lease longer than the store does.
import { RepriseError } from '../errors.ts'
import type { Lease, Store } from '../stores/store.ts'
import type { World } from './definition.ts'

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
  since: number,
  lost: (error: RepriseError) => void,
): LeaseKeeper {
  const third = world.leaseMs / 3
  let deadline = since + world.leaseMs
  let gone: RepriseError | undefined

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
    const asked = world.monotonic()
    try {
      const kept = await store.renew([lease], world.leaseMs)
      if (kept.length === 0) lose('another process took it over')
      else deadline = asked + world.leaseMs
    } catch {
      // the store may answer again before the lease is over; until then nothing is lost
      if (world.monotonic() > deadline) lose('it could not be renewed in time')
    }
  }

  const timer = setInterval(() => void renew(), third)
  timer.unref()

  return {
    async ready() {
      if (deadline - world.monotonic() < third) await renew()
      if (gone) throw gone
      if (deadline - world.monotonic() < third) throw lose('it could not be renewed in time')
    },
    stop: () => clearInterval(timer),
  }
}

function leaseLost(lease: Lease, why: string): RepriseError {
  return new RepriseError(
    'LEASE_LOST',
    `this process no longer holds run ${lease.run}: ${why}; nothing more was written, and the run goes on where it is held`,
    { runId: lease.run },
  )
}
