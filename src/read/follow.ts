// Follows a run: yields its existing entries, then new entries as any process writes them. In the process that executes
// the run, model deltas come in between, in an order that doesn't depend on timing: after all entries before the call,
// and completely before the entry that records the reply. A suspension or failure among the entries may be history; the
// iterator returns the status in which the run rests now. `marked` shows where history ends.
import { createNotifier, type Notifier } from '../base/notifier.ts'
import type { Entry, RunStatus } from '../journal/entries.ts'
import { statusAfter } from '../journal/table/entry-table.ts'
import type { Clock } from '../base/clock.ts'
import type { Store } from '../stores/store.ts'
import type { CaughtUpEvent, Listener, Listeners, RunEvent } from './listeners.ts'
import { readEntries } from './read-run.ts'

/** The run's store, the clock, and the run's listeners if this process executes the run. */
interface Source {
  readonly store: Store
  readonly world: Pick<Clock, 'timer'>
  readonly listeners?: Listeners | undefined
}

interface FollowOptions {
  /** Only entries after this one; 0 for all. */
  readonly after?: number | undefined
  /**
   * Settles when this process is done with the run. If it rejects, so does following, since the journal may not record
   * the error.
   */
  readonly until?: Promise<unknown> | undefined
  /** Also yield a `CaughtUpEvent` once, when all entries so far were delivered, if the run is still in progress. */
  readonly marked?: boolean | undefined
}

/** The status in which a run rests. No entries follow unless it is resumed. */
export type RestStatus = 'suspended' | 'completed' | 'failed' | 'cancelled'

/** Returns undefined if the caller stopped following or the store was closed: the run may have more entries. */
export type EventIterator<Event> = AsyncIterableIterator<Event, RestStatus | undefined>

/** Yields a run's entries. Ends when the run is neither running nor queued. Calling `return` stops a wait at once. */
export function follow(source: Source, run: string, options?: FollowOptions): EventIterator<Entry> {
  // without listeners there are no deltas
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
      // `return` alone would not end a waiting generator
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
      // read before the entries, which then include the entry that set this status
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

/** Waits for changes. The timer keeps the process alive, which watching a store doesn't. */
async function waitKeepingAlive({ timer }: Pick<Clock, 'timer'>, changes: Notifier): Promise<void> {
  using _ = timer(longestTimerMs, () => {}, true)
  await changes.wait()
  changes.consume()
}

interface EntryWatch extends Disposable {
  /** Whether there may be entries to read, or watching has ended. */
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
  // after a success, look at the journal: another process may already have resumed the run
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
