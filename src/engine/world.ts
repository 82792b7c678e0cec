// The real world: clocks, ids and this process.
import { setTimeout as wait } from 'node:timers/promises'
import { environment } from '../environment.ts'
import { thisOwner } from '../stores/owner.ts'
import type { World } from './definition.ts'

export function realWorld(): World {
  return {
    now: () => new Date(),
    monotonic: () => performance.now(),
    newRunId: () => process.getBuiltinModule('node:crypto').randomUUIDv7(),
    // code that only looks at runs doesn't need it
    get owner() {
      return thisOwner()
    },
    leaseMs: (environment().leaseSeconds ?? 30) * 1000,
    async sleep(ms, signal) {
      await wait(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
    },
  }
}
