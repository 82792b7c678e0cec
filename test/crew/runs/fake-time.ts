// A crew on a fake clock: model calls take as long as the test says, and nothing else takes any time.
import { openCrew, type OpenCrew } from '../../../src/crew/open-crew.ts'
import { leaseKeeper } from '../../../src/engine/lease/leased-tree.ts'
import { realWorld } from '../../../src/engine/world.ts'
import type { Crew } from 'reprise'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import type { Store } from '../../../src/stores/store.ts'

export interface FakeTime {
  now: number
  /** By how many ms the time of day was set ahead. No time passes by that. */
  ahead: number
  readonly store: Store
  /** Another process, as far as leases go, with this crew. */
  open(crew: Crew): OpenCrew
}

let times = 0

export function fakeTime(): FakeTime {
  const time: FakeTime = {
    now: Date.parse('2026-03-01T09:00:00Z'),
    ahead: 0,
    store: memoryStore({ now: () => time.now + time.ahead, url: `memory:fake-time-${++times}` }),
    open(crew) {
      const world = {
        ...realWorld(),
        now: () => new Date(time.now + time.ahead),
        monotonic: () => time.now,
        sleep: async (ms: number) => void (time.now += ms),
      }
      const open = openCrew(crew['~definition']({}), { store: time.store, name: crew.name })
      const leases = leaseKeeper(time.store, world)
      return { ...open, engine: async () => ({ ...(await open.engine()), world, leases }) }
    },
  }
  return time
}
