// Wakes those who wait for changes of a run. Hints only: many changes may become one, and a hint may come for nothing, but a
// change behind the call of `watch` is never missed, so a watcher is registered when it is made, not when it is first read.
import type { RunId } from './store.ts'

export interface Watchers {
  watch(run: RunId | undefined, signal: AbortSignal): AsyncIterable<void>
  /** Wakes the watchers of this run and of all runs; without a run, everybody. */
  changed(run?: RunId): void
  /** Ends all watchers. */
  close(): void
}

/** What looks for changes made by other processes, only while somebody watches. */
export interface ChangePoll {
  start(): void
  stop(): void
}

interface Watcher {
  readonly run: RunId | undefined
  readonly wake: () => void
  readonly end: () => void
}

export function createWatchers(poll?: ChangePoll): Watchers {
  const all = new Set<Watcher>()

  function watch(run: RunId | undefined, signal: AbortSignal): AsyncIterable<void> {
    let ended = signal.aborted
    let woken = Promise.withResolvers<void>()
    const watcher: Watcher = {
      run,
      // Resolved stays resolved until it is read: many changes become one hint, and none before the next read is lost.
      wake: () => woken.resolve(),
      end() {
        if (ended) return
        ended = true
        all.delete(watcher)
        if (all.size === 0) poll?.stop()
        signal.removeEventListener('abort', watcher.end)
        woken.resolve()
      },
    }
    if (!ended) {
      all.add(watcher)
      if (all.size === 1) poll?.start()
      signal.addEventListener('abort', watcher.end, { once: true })
    } else {
      woken.resolve()
    }

    async function next(): Promise<IteratorResult<void>> {
      await woken.promise
      if (ended) return { done: true, value: undefined }
      woken = Promise.withResolvers<void>()
      return { done: false, value: undefined }
    }
    function finish(): Promise<IteratorResult<void>> {
      watcher.end()
      return Promise.resolve({ done: true, value: undefined })
    }
    return { [Symbol.asyncIterator]: () => ({ next, return: finish }) }
  }

  return {
    watch,
    changed(run) {
      for (const watcher of all)
        if (run === undefined || watcher.run === undefined || watcher.run === run) watcher.wake()
    },
    close() {
      for (const watcher of all) watcher.end()
    },
  }
}
