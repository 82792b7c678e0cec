// State shared by the runs of a process. It belongs to the world, not to a module, so that two worlds are as separate
// as two processes.
import { seriallyByName, type SerialQueues } from '../base/serially.ts'
import type { Store } from '../stores/store.ts'

export interface ProcessState {
  /** Keys of the runs in progress. */
  readonly runs: Set<string>
  /** Short work on runs, such as recording an answer, by the key of the run. */
  readonly briefWork: SerialQueues
  /** Serialises concurrent creations of a run, by the key of the run. */
  readonly creating: SerialQueues
  /** Abandoned tool calls that are still running: their effects may come as late as the run's next life. */
  readonly abandonedCalls: Set<string>
  /** Times of requests in the last minute, by agent or crew. */
  readonly requests: WeakMap<object, number[]>
  /** Stores whose caution was already logged. */
  readonly cautioned: Set<string>
  /** Identifies a store: by URL, or by object identity for memory stores, which share one. */
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
