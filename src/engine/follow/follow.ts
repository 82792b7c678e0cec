// A run's entries as they come, in whatever process they are written: first those that exist, then those that a hint
// announces. In the process that executes the run, what its models say comes in between, in an order that never depends
// on timing: after all entries before the call, and complete before the entry that records the reply. A suspension or
// a failure among the entries may be history; that the run rests now is what the iterator returns, and whoever wants it
// is told when history is over.
import { createNotifier, type Notifier } from '../../base/notifier.ts'
import type { Entry, RunStatus } from '../../journal/entries.ts'
import { statusAfter } from '../../journal/table/entry-table.ts'
import type { Engine } from '../definition.ts'
import type { CaughtUpEvent, Listener, RunEvent } from './listeners.ts'
import { readEntries } from '../read/read-run.ts'

export interface FollowOptions {
  /** Only entries after this one; 0 for all. */
  readonly after?: number | undefined
  /**
   * Settles when this process is done with the run. If it fails, that is not in the journal, and following fails with
   * it.
   */
  readonly until?: Promise<unknown> | undefined
  /** Also yield a `CaughtUpEvent`, once, when all entries so far were delivered and the run is in progress. */
  readonly marked?: boolean | undefined
}

/** How the run rests: nothing comes before somebody resumes it, if that can be done. */
export type RestStatus = 'suspended' | 'completed' | 'failed' | 'cancelled'

/** Returns undefined when somebody stopped following or closed the store: more may come. */
export type EventIterator<Event> = AsyncIterableIterator<Event, RestStatus | undefined>

/**
 * Ends when everything is read and nobody is executing or about to execute the run. Returning early stops the wait at
 * once.
 */
export function follow(engine: Engine, run: string, options?: FollowOptions): EventIterator<Entry> {
  // without listeners, there are only entries
  return createFollower({ ...engine, listeners: undefined }, run, options) as EventIterator<Entry>
}

/**
 * The same, with what models say from now on. Listening begins with the call, not with the first event that is
 * requested.
 */
export function followLive(engine: Engine, run: string, options?: FollowOptions): EventIterator<RunEvent> {
  return createFollower(engine, run, options) as EventIterator<RunEvent>
}

function createFollower(
  engine: Engine,
  run: string,
  options: FollowOptions = {},
): EventIterator<RunEvent | CaughtUpEvent> {
  const { after = 0, until, marked = false } = options
  const stop = new AbortController()
  const changes = createNotifier()
  const listener = engine.listeners?.listen(changes.notify, after > 0)
  const events = followEvents(engine, run, { after, until, marked, listener, changes, signal: stop.signal })
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
  engine: Engine,
  run: string,
  following: FollowContext,
): AsyncGenerator<RunEvent | CaughtUpEvent, RestStatus | undefined> {
  const { store } = engine
  const { after, listener, changes, signal } = following
  using news = watchEntries(engine, run, following)
  let { marked } = following
  let seq = after
  let status: RunStatus | undefined
  try {
    for (;;) {
      const ended = news.take()
      if (ended === 'closed') return undefined
      // checked before the entries are read, so that they include all that led to it
      const known = status ?? (await store.row(run))?.status
      for await (const { entry } of readEntries(store, run, seq)) {
        if (listener) yield* listener.before(entry)
        if (signal.aborted) return undefined
        seq = entry.seq
        status = statusAfter(entry) ?? status
        yield entry
      }
      const now = status ?? known
      if (signal.aborted) return undefined
      if (now !== 'running' && now !== 'queued') return now
      if (marked) yield { type: 'caught-up', entry: seq }
      marked = false
      do {
        if (listener) yield* listener.deltas(seq)
        if (ended) throw ended.error
        if (!news.isThere()) await waitKeepingAlive(changes)
      } while (!news.isThere())
    }
  } finally {
    listener?.stop()
  }
}

/** A timer keeps the process alive, since hints don't. */
async function waitKeepingAlive(changes: Notifier): Promise<void> {
  const timer = setInterval(() => {}, 60_000)
  await changes.wait()
  clearInterval(timer)
  changes.consume()
}

interface EntryWatch extends Disposable {
  /** Whether there may be entries to read, or nothing more to wait for. */
  isThere(): boolean
  /** Marks it as taken, and says whether more will come. */
  take(): FollowEnd | undefined
}
/** closed: somebody stopped following, or closed the store. */
type FollowEnd = 'closed' | { readonly error: unknown }

function watchEntries({ store }: Engine, run: string, { until, changes, signal }: FollowContext): EntryWatch {
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
  const hear = async (): Promise<void> => {
    for await (const _ of hints) look()
  }
  hear().then(() => end('closed'), failed)
  // how it went well is in the journal; if the run is under way again by then, somebody else has resumed it
  until?.then(look, failed)
  return {
    isThere: () => hinted,
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
