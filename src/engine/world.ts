// The real world: clocks, randomness, ids and this process. The only place below the surfaces that reads them.
import { setImmediate as turn } from 'node:timers/promises'
import { realClock } from '../base/clock.ts'
import { environment } from '../base/environment.ts'
import { currentOwner, isOwnerDead } from '../stores/owner.ts'
import type { World } from './definition.ts'
import { createProcessState } from './process-state.ts'

const thisProcess = createProcessState()

export function realWorld(): World {
  return {
    ...realClock,
    turn: () => turn(),
    uuid: () => crypto.randomUUID(),
    newRunId: () => uuidV7(Date.now()),
    newIncarnation: () => Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64url'),
    // code that only looks at runs doesn't need it
    get owner() {
      return currentOwner()
    },
    isGone: isOwnerDead,
    leaseMs: (environment().leaseSeconds ?? 30) * 1000,
    process: thisProcess,
  }
}

/**
 * An id that sorts by the time at which it was made, in ms since 1970 (RFC 9562, version 7): 48 bits of time, then
 * randomness. Node makes them only from 24.16 on, and other runtimes don't.
 */
export function uuidV7(time: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const view = new DataView(bytes.buffer)
  view.setUint16(0, Math.floor(time / 2 ** 32))
  view.setUint32(2, time % 2 ** 32)
  view.setUint8(6, 0x70 | (view.getUint8(6) & 0x0f))
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f))
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
