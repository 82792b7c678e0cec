// An engine over one store: what every verb and every surface works with.
import { patientStore, shortWaitMs, type DirectStore } from '../stores/patient/patient-store.ts'
import type { Patience } from '../stores/patient/patience.ts'
import type { Engine, World } from './definition.ts'
import { leaseKeeper } from './lease/lease-keeper.ts'

/** Calls outside of an execution wait `limitMs`, since a person may be waiting for them. */
export function openEngine(
  store: DirectStore,
  world: World,
  { limitMs = shortWaitMs, onOutage }: Pick<Patience, 'limitMs' | 'onOutage'> = {},
): Engine {
  return { store: patientStore(store, { limitMs, onOutage, clock: world }), world, leases: leaseKeeper(store, world) }
}
