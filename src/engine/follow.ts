// A run's entries as they come, in whatever process they are written: what is there, then what a hint says may be there.
import type { Entry } from '../journal/entries.ts'
import { applyEntry, emptyState } from '../journal/fold.ts'
import type { Engine } from './definition.ts'
import { readEntries } from './read-run.ts'

/** Ends when everything is read and the run is not running: completed, failed, cancelled or suspended. */
export async function* follow({ store }: Engine, run: string): AsyncGenerator<Entry> {
  const watching = new AbortController()
  const hints = store.watch(run, watching.signal)[Symbol.asyncIterator]()
  const state = emptyState()
  // hints do not keep a process alive; somebody who waits for the next entry does
  const alive = setInterval(() => {}, 60_000)
  try {
    for (;;) {
      for await (const { entry } of readEntries(store, run, state.seq)) {
        applyEntry(state, entry)
        yield entry
      }
      if (state.seq > 0 && state.status !== 'running') return
      if ((await hints.next()).done) return
    }
  } finally {
    clearInterval(alive)
    watching.abort()
  }
}
