// A run's entries as they come, in whatever process they are written: what is there, then what a hint says may be there.
import type { Entry } from '../journal/entries.ts'
import type { Engine } from './definition.ts'
import { readEntries } from './read-run.ts'

const pauses = new Set<Entry['type']>(['run.completed', 'run.failed', 'run.cancelled', 'run.suspended'])

/** Ends behind an entry that ends or suspends the run, when it is the last. */
export async function* follow({ store }: Engine, run: string): AsyncGenerator<Entry> {
  const watching = new AbortController()
  const hints = store.watch(run, watching.signal)[Symbol.asyncIterator]()
  let last: Entry | undefined
  try {
    for (;;) {
      for await (const { entry } of readEntries(store, run, last?.seq)) yield (last = entry)
      if (last && pauses.has(last.type)) return
      if ((await hints.next()).done) return
    }
  } finally {
    watching.abort()
  }
}
