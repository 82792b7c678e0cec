// Whether a worker does its work: for whoever restarts one that does not, and for whoever waits before it is stopped.
import { defined } from '../../base/defined.ts'
import { currentMoment, type Moment } from '../../engine/moment.ts'
import type { World } from '../../engine/definition.ts'
import type { WorkerPartEvent } from './events.ts'

export interface WorkerHealth {
  /** What the worker is called, if that was said. */
  readonly name?: string
  /** away: a store has not answered for a while. */
  readonly status: 'ok' | 'away' | 'stopping'
  readonly inProgress: number
  /** The stores that do not answer, and since when, in ISO 8601. */
  readonly away: readonly { readonly store: string; readonly since: string }[]
}

export interface HealthKeeper {
  hear(event: WorkerPartEvent): void
  health(inProgress: number): WorkerHealth
}

/** A store that is away for a shorter time is nobody's concern. */
const toleratedMs = 30_000

export function createHealth(clock: Pick<World, 'now' | 'monotonic'>): HealthKeeper {
  const away = new Map<string, Moment>()
  let name: string | undefined
  let stopping = false
  return {
    hear(heard) {
      if (heard.event === 'started') ({ name } = heard)
      if (heard.event === 'store-away') away.set(heard.store, currentMoment(clock))
      if (heard.event === 'asked') away.delete(heard.store)
      if (heard.event === 'stopping') stopping = true
    },
    health(inProgress) {
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
