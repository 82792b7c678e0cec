// The health of a worker, for supervisors that restart it or wait until it has stopped.
import { defined } from '../../base/defined.ts'
import { currentMoment, type Moment } from '../../engine/moment.ts'
import type { World } from '../../engine/definition.ts'
import type { WorkerPartEvent } from './events.ts'

export interface WorkerHealth {
  /** Its display name. */
  readonly name?: string
  /** away: a store has not answered for 30 seconds. */
  readonly status: 'ok' | 'away' | 'stopping'
  readonly inProgress: number
  /** Stores that do not answer, with the start of the outage in ISO 8601. */
  readonly away: readonly { readonly store: string; readonly since: string }[]
}

export interface HealthRecord {
  record(event: WorkerPartEvent): void
  read(inProgress: number): WorkerHealth
}

/** Shorter outages do not count. */
const toleratedMs = 30_000

export function createHealth(clock: Pick<World, 'now' | 'monotonic'>): HealthRecord {
  const away = new Map<string, Moment>()
  let name: string | undefined
  let stopping = false
  return {
    record(event) {
      if (event.type === 'started') ({ name } = event)
      if (event.type === 'store-away') away.set(event.store, currentMoment(clock))
      if (event.type === 'store-asked') away.delete(event.store)
      if (event.type === 'stopping') stopping = true
    },
    read(inProgress) {
      const long = [...away].filter(([, since]) => clock.monotonic() - since.monotonic >= toleratedMs)
      return {
        ...defined({ name }),
        status: stopping ? 'stopping' : long.length > 0 ? 'away' : 'ok',
        inProgress,
        away: long.map(([store, since]) => ({ store, since: new Date(since.day).toISOString() })),
      }
    },
  }
}
