// What the runs of one process share. It is an object of the world, not of a module: two worlds with a state of their
// own know as little of each other as two processes do.
import { seriallyByName, type SerialQueues } from '../base/serially.ts'
import type { Store } from '../stores/store.ts'

export interface ProcessState {
  /** Keys of the runs that are being executed. */
  readonly runs: Set<string>
  /** Short work on runs, such as recording an answer, by the key of the run. */
  readonly briefWork: SerialQueues
  /** Of concurrent calls that create the same run, one does; by the key of the run. */
  readonly creating: SerialQueues
  /** Tool calls that were given up and have not ended: they may still do their work, even in the run's next life. */
  readonly abandonedCalls: Set<string>
  /** Times of requests in the last minute, by agent or crew. */
  readonly requests: WeakMap<object, number[]>
  /** Places whose caution was logged. */
  readonly cautioned: Set<string>
  /** Tells stores apart. Handles of one place share its URL; unnamed stores in memory are told apart by identity. */
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
