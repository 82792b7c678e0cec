// The real world: clocks, ids and this process.
import { realClock } from '../base/clock.ts'
import { environment } from '../base/environment.ts'
import { currentOwner } from '../stores/owner.ts'
import type { World } from './definition.ts'
import { uuidV7 } from './uuid-v7.ts'

export function realWorld(): World {
  return {
    ...realClock,
    now: () => new Date(),
    newRunId: () => uuidV7(Date.now()),
    newIncarnation: () => Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64url'),
    // code that only looks at runs doesn't need it
    get owner() {
      return currentOwner()
    },
    leaseMs: (environment().leaseSeconds ?? 30) * 1000,
  }
}
