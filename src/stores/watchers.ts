// Wakes watchers of runs. Hints only: several changes may become one, and a hint may come without a change. But a
// change after the call of `watch` is never missed, so a watcher is registered by that call, not by its first read.
import { createNotifier } from '../base/notifier.ts'
import { rootRunId } from '../journal/paths.ts'
import type { RunId } from './store.ts'

export interface Watchers {
  watch(run: RunId | undefined, signal: AbortSignal, only?: 'messages'): AsyncIterable<void>
  /** Wakes the watchers of this run and of all runs, unless they watch messages only. Without a run, wakes all. */
  changed(run?: RunId): void
  /** Wakes the watchers of this run, of its root and of all runs. */
  posted(run: RunId): void
  /** The runs watched for any change, the runs watched for messages only, and whether all runs are watched. */
  watched(): { readonly steps: RunId[]; readonly messages: RunId[]; readonly all: boolean }
  /** Ends all watchers. */
  close(): void
}

/** Polls for changes made by other processes, while there are watchers. */
export interface ChangePoll {
  start(): void
  stop(): void
}

interface Watcher {
  readonly onlyMessages: boolean
  readonly wake: () => void
  readonly end: () => void
}

export function createWatchers(poll?: ChangePoll): Watchers {
  /** By run, so that an append finds the watchers of its run; watchers of all runs are under undefined. */
  const watching = new Map<RunId | undefined, Set<Watcher>>()

  function add(run: RunId | undefined, watcher: Watcher): void {
    const others = watching.get(run)
    if (others) others.add(watcher)
    else watching.set(run, new Set([watcher]))
    if (!others && watching.size === 1) poll?.start()
  }

  function remove(run: RunId | undefined, watcher: Watcher): void {
    const others = watching.get(run)
    if (!others?.delete(watcher) || others.size > 0) return
    watching.delete(run)
    if (watching.size === 0) poll?.stop()
  }

  function watch(run: RunId | undefined, signal: AbortSignal, only?: 'messages'): AsyncIterable<void> {
    let ended = signal.aborted
    const changes = createNotifier()
    const watcher: Watcher = {
      onlyMessages: only === 'messages',
      // several changes become one hint, and no change before the next read is lost
      wake: changes.notify,
      end() {
        if (ended) return
        ended = true
        remove(run, watcher)
        signal.removeEventListener('abort', watcher.end)
        changes.notify()
      },
    }
    if (!ended) {
      add(run, watcher)
      signal.addEventListener('abort', watcher.end, { once: true })
    } else {
      changes.notify()
    }

    async function next(): Promise<IteratorResult<void>> {
      await changes.wait()
      if (ended) return { done: true, value: undefined }
      changes.consume()
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
      if (run === undefined) for (const watchers of watching.values()) watchers.forEach((watcher) => watcher.wake())
      for (const name of run === undefined ? [] : [run, undefined])
        watching.get(name)?.forEach((watcher) => watcher.onlyMessages || watcher.wake())
    },
    posted(run) {
      for (const name of new Set([run, rootRunId(run), undefined]))
        watching.get(name)?.forEach((watcher) => watcher.wake())
    },
    watched() {
      const runs = [...watching.keys()].filter((run) => run !== undefined)
      const isFollowed = (run: RunId): boolean =>
        [...(watching.get(run) ?? [])].some(({ onlyMessages }) => !onlyMessages)
      const { steps = [], messages = [] } = Object.groupBy(runs, (run) => (isFollowed(run) ? 'steps' : 'messages'))
      return { steps, messages, all: watching.has(undefined) }
    },
    close() {
      for (const watchers of watching.values()) watchers.forEach((watcher) => watcher.end())
    },
  }
}
