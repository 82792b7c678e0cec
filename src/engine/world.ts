// The real world: clocks, randomness, ids and process state, and the engine that uses them. While it executes a run,
// the engine reads them only through its `World`, which tests replace.
import { setImmediate as turn } from 'node:timers/promises'
import { realClock, uuidV7 } from '../base/clock.ts'
import { environment } from '../base/environment.ts'
import { currentOwner, isOwnerDead } from '../stores/owner.ts'
import type { World, Engine } from './definition.ts'
import { patientStore, shortWaitMs, type DirectStore, type Patience } from '../stores/patient-store.ts'
import { leaseKeeper } from './lease/leased-tree.ts'
import { seriallyByName, type SerialQueues } from '../base/notifier.ts'
import type { Store } from '../stores/store.ts'

const thisProcess = createProcessState()

export function realWorld(): World {
  return {
    ...realClock,
    turn: () => turn(),
    uuid: () => crypto.randomUUID(),
    newRunId: () => uuidV7(Date.now()),
    newIncarnation: () => Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64url'),
    // computed on first use: code that only reads runs doesn't need it
    get owner() {
      return currentOwner()
    },
    isGone: isOwnerDead,
    leaseMs: (environment().leaseSeconds ?? 30) * 1000,
    process: thisProcess,
  }
}

/**
 * Opens an engine over one store. Store calls outside of a run's execution wait out an outage for at most `limitMs`:
 * a person may be waiting for them.
 */
export function openEngine(
  store: DirectStore,
  world: World,
  { limitMs = shortWaitMs, onOutage }: Pick<Patience, 'limitMs' | 'onOutage'> = {},
): Engine {
  return { store: patientStore(store, { limitMs, onOutage, clock: world }), world, leases: leaseKeeper(store, world) }
}

/**
 * State shared by the runs of a process. It belongs to the world, not to a module, so that two worlds are as separate
 * as two processes.
 */
export interface ProcessState {
  /** Keys of the runs in progress. */
  readonly runs: Set<string>
  /** Short work on runs, such as recording an answer, by the key of the run. */
  readonly briefWork: SerialQueues
  /** Serialises concurrent creations of a run, by the key of the run. */
  readonly creating: SerialQueues
  /** Abandoned tool calls that are still running: their effects may come as late as the run's next life. */
  readonly abandonedCalls: Set<string>
  /** Times of the model requests in the last minute, by agent or crew. */
  readonly requests: WeakMap<object, number[]>
  /** URLs of the stores whose `caution` was already logged. */
  readonly cautioned: Set<string>
  /** Identifies a store by its URL; a memory store by its object identity, since all memory stores share one URL. */
  storeKey(store: Store): string
}

export function createProcessState(): ProcessState {
  const unnamed = new WeakMap<Store, string>()
  let count = 0
  return {
    runs: new Set(),
    briefWork: seriallyByName(),
    creating: seriallyByName(),
    abandonedCalls: new Set(),
    requests: new WeakMap(),
    cautioned: new Set(),
    storeKey(store) {
      if (store.url !== 'memory:') return store.url
      let key = unnamed.get(store)
      if (key === undefined) unnamed.set(store, (key = `memory:${++count}`))
      return key
    },
  }
}
