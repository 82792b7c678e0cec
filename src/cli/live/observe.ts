// Observes what is written through a store.
import { decodeEntry } from '../../journal/codec.ts'
import type { Entry } from '../../journal/entries.ts'
import type { Batch, Store } from '../../stores/store.ts'

interface ObservedStore {
  readonly store: Store
  /** Resolves when the listener has received everything that was written so far. */
  delivered(): Promise<void>
}

/** The same store, with a listener that receives each entry, in order, once it is written. */
export function observeStore(store: Store, hear: (entry: Entry, run: string) => void | Promise<void>): ObservedStore {
  let queue = Promise.resolve()
  const tell = (run: string, { lines }: Batch): void => {
    for (const { bytes, seq } of lines) {
      const decoded = decodeEntry(bytes, (hash) => store.blob(run, hash), `entry ${seq} of run ${run}`)
      // showing progress must not fail a run
      queue = queue.then(async () => hear(await decoded, run)).catch(() => {})
    }
  }
  const append: Store['append'] = async (lease, after, batch) => {
    const waiting = await store.append(lease, after, batch)
    tell(batch.run ?? lease.run, batch)
    return waiting
  }
  const create: Store['create'] = async (row, batch, ...more) => {
    const made = await store.create(row, batch, ...more)
    if (made.created) tell(row.run, batch)
    return made
  }
  const observed = new Proxy(store, {
    get(target, key) {
      if (key === 'append') return append
      if (key === 'create') return create
      const member: unknown = Reflect.get(target, key, target)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
  return { store: observed, delivered: () => queue }
}
