// Follows a run: yields its existing entries, then new entries as they are written, by whatever process. In the process
// that executes the run, deltas of its models come in between, in an order that doesn't depend on timing: after all
// entries before the call, and complete before the entry that records the reply. A suspension or a failure among the
// entries may be history; how the run rests now is what the iterator returns. `marked` tells where history ends.
import { createNotifier, type Notifier } from '../base/notifier.ts'
import type { Entry, RunStatus } from '../journal/entries.ts'
import { statusAfter } from '../journal/table/entry-table.ts'
import type { Clock } from '../base/clock.ts'
import type { Store } from '../stores/store.ts'
import type { CaughtUpEvent, Listener, Listeners, RunEvent } from './listeners.ts'
import { readEntries } from './read-run.ts'

/** A store, and the models of this process if it executes the run. */
interface Source {
  readonly store: Store
  readonly world: Pick<Clock, 'timer'>
  readonly listeners?: Listeners | undefined
}

interface FollowOptions {
  /** Only entries after this one; 0 for all. */
  readonly after?: number | undefined
  /**
   * Settles when this process is done with the run. If it rejects, following rejects too: the journal has no record.
   */
  readonly until?: Promise<unknown> | undefined
  /** Also yield a `CaughtUpEvent`, once, when all entries so far were delivered and the run is in progress. */
  readonly marked?: boolean | undefined
}

/** How the run rests. No entries follow, unless the run is resumed. */
export type RestStatus = 'suspended' | 'completed' | 'failed' | 'cancelled'

/** Returns undefined when the caller stopped following or the store was closed: the run may have more entries. */
export type EventIterator<Event> = AsyncIterableIterator<Event, RestStatus | undefined>

/** Ends when all entries are read and the run is neither running nor queued. Returning early stops the wait at once. */
export function follow(source: Source, run: string, options?: FollowOptions): EventIterator<Entry> {
  // without listeners, there are only entries
  return createFollower({ ...source, listeners: undefined }, run, options) as EventIterator<Entry>
}

/** Like `follow`, with deltas from now on. Listening starts with this call, not with the first `next()`. */
export function followLive(source: Source, run: string, options?: FollowOptions): EventIterator<RunEvent> {
  return createFollower(source, run, options) as EventIterator<RunEvent>
}

function createFollower(
  source: Source,
  run: string,
  options: FollowOptions = {},
): EventIterator<RunEvent | CaughtUpEvent> {
  const { after = 0, until, marked = false } = options
  const stop = new AbortController()
  const changes = createNotifier()
  const listener = source.listeners?.listen(changes.notify, after > 0)
  const events = followEvents(source, run, { after, until, marked, listener, changes, signal: stop.signal })
  return {
    next: () => events.next(),
    async return() {
      // a waiting generator cannot be ended, so end what it waits for
      stop.abort()
      listener?.stop()
      await events.return(undefined)
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

interface FollowContext {
  readonly after: number
  readonly until: Promise<unknown> | undefined
  readonly marked: boolean
  readonly listener: Listener | undefined
  readonly changes: Notifier
  readonly signal: AbortSignal
}

async function* followEvents(
  source: Source,
  run: string,
  following: FollowContext,
): AsyncGenerator<RunEvent | CaughtUpEvent, RestStatus | undefined> {
  const { store } = source
  const { after, listener, changes, signal } = following
  using news = watchEntries(source, run, following)
  let { marked } = following
  let seq = after
  let latest: RunStatus | undefined
  try {
    for (;;) {
      const ended = news.take()
      if (ended === 'closed') return undefined
      // read before the entries, so that these include its entry
      const known = latest ?? (await store.row(run))?.status
      for await (const { entry } of readEntries(store, run, seq)) {
        if (listener) yield* listener.before(entry)
        if (signal.aborted) return undefined
        seq = entry.seq
        latest = statusAfter(entry) ?? latest
        yield entry
      }
      const status = latest ?? known
      if (signal.aborted) return undefined
      if (status !== 'running' && status !== 'queued') return status
      if (marked) yield { type: 'caught-up', entry: seq }
      marked = false
      do {
        if (listener) yield* listener.deltas(seq)
        if (ended) throw ended.error
        if (!news.isPending()) await waitKeepingAlive(source.world, changes)
      } while (!news.isPending())
    }
  } finally {
    listener?.stop()
  }
}

/** About 24 days. */
const longestTimerMs = 2 ** 31 - 1

/** A timer keeps the process alive, since hints don't. */
async function waitKeepingAlive({ timer }: Pick<Clock, 'timer'>, changes: Notifier): Promise<void> {
  using _ = timer(longestTimerMs, () => {}, true)
  await changes.wait()
  changes.consume()
}

interface EntryWatch extends Disposable {
  /** There may be entries to read, or nothing more to wait for. */
  isPending(): boolean
  /** Clears `isPending`, and returns why no more entries will come, if so. */
  take(): FollowEnd | undefined
}
/** `closed`: the caller stopped following, or the store was closed. */
type FollowEnd = 'closed' | { readonly error: unknown }

function watchEntries({ store }: Source, run: string, { until, changes, signal }: FollowContext): EntryWatch {
  let hinted = true
  let ended: FollowEnd | undefined
  const look = (): void => {
    hinted = true
    changes.notify()
  }
  const end = (how: FollowEnd): void => {
    if (ended === undefined || how === 'closed') ended = how
    look()
  }
  const failed = (error: unknown): void => end({ error })
  const watching = new AbortController()
  const unwatch = (): void => watching.abort()
  signal.addEventListener('abort', unwatch, { once: true })
  if (signal.aborted) unwatch()
  const hints = store.watch(run, watching.signal)
  const receiveHints = async (): Promise<void> => {
    for await (const _ of hints) look()
  }
  receiveHints().then(() => end('closed'), failed)
  // a success is in the journal; the run may also be running again, resumed by another process
  until?.then(look, failed)
  return {
    isPending: () => hinted,
    take() {
      hinted = false
      return ended
    },
    [Symbol.dispose]() {
      signal.removeEventListener('abort', unwatch)
      unwatch()
    },
  }
}
