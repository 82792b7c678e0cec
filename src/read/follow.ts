// Follows a run: yields its existing entries, then new entries as any process writes them. In the process that executes
// the run, model deltas come in between, in an order that doesn't depend on timing: after all entries before the call,
// and completely before the entry that records the reply. A suspension or failure among the entries may be history; the
// iterator returns the status in which the run rests now. `marked` shows where history ends.
//
// What models of child runs say comes after the entry that starts the child run, and before every entry that was
// written because of it. For this, the journals of child runs are read, too: before each entry of the run, up to what
// is on disk. Child runs that had ended before listening began are not read, unless `children` asks for their entries.
import { createNotifier, type Notifier } from '../base/notifier.ts'
import type { Entry, RunStatus } from '../journal/entries.ts'
import { childRunId, taskInPath } from '../journal/paths.ts'
import { isEnded } from '../journal/state/state.ts'
import { childStartedBy, statusAfter } from '../journal/table/entry-table.ts'
import type { Clock } from '../base/clock.ts'
import type { Store } from '../stores/store.ts'
import type { CaughtUpEvent, Delta, Listener, Listeners, RunEvent } from './listeners.ts'
import { readEntries } from './read-run.ts'

/** The run's store, the clock, and the run's listeners if this process executes the run. */
interface Source {
  readonly store: Store
  readonly world: Pick<Clock, 'timer'>
  readonly listeners?: Listeners | undefined
}

export interface FollowOptions {
  /** Only entries after this one; 0 for all. */
  readonly after?: number | undefined
  /** For deltas: the last entry that was written before listening began. */
  readonly since?: number | undefined
  /**
   * Settles when this process is done with the run. If it rejects, so does following, since the journal may not record
   * the error.
   */
  readonly until?: Promise<unknown> | undefined
  /** Also yield a `CaughtUpEvent` once, when all entries so far were delivered, if the run is still in progress. */
  readonly marked?: boolean | undefined
  /** Whether to yield all entries of the child runs of this task, too, from their beginning, whatever `after` is. */
  readonly children?: ((task: string) => boolean) | undefined
}

/** An entry of a child run. */
export interface ChildEntry {
  readonly type: 'child.entry'
  /** The attempts that lead to the child run: `article[rye]#1`. Its id is the id of the followed run and this path. */
  readonly path: string
  readonly entry: Entry
}

/** The status in which a run rests. No entries follow unless it is resumed. */
export type RestStatus = 'suspended' | 'completed' | 'failed' | 'cancelled'

/** Returns undefined if the caller stopped following or the store was closed: the run may have more entries. */
export type EventIterator<Event> = AsyncIterableIterator<Event, RestStatus | undefined>

export type FollowedEvent = RunEvent | CaughtUpEvent | ChildEntry

/** Yields a run's entries. Ends when the run is neither running nor queued. Calling `return` stops a wait at once. */
export function follow(
  source: Source,
  run: string,
  options?: FollowOptions & { readonly children?: undefined },
): EventIterator<Entry>
export function follow(source: Source, run: string, options?: FollowOptions): EventIterator<FollowedEvent>
export function follow(source: Source, run: string, options?: FollowOptions): EventIterator<FollowedEvent> {
  // without listeners there are no deltas
  return followLive({ ...source, listeners: undefined }, run, options)
}

/** Like `follow`, with deltas from now on. Listening starts with this call, not with the first `next()`. */
export function followLive(
  source: Source,
  run: string,
  { after = 0, since = 0, until, marked = false, children }: FollowOptions = {},
): EventIterator<FollowedEvent> {
  const stop = new AbortController()
  const changes = createNotifier()
  const listener = source.listeners?.listen(run, { wake: changes.notify, again: after > 0 })
  const { signal } = stop
  const events = followEvents(source, run, { after, since, until, marked, children, listener, changes, signal })
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
  readonly since: number
  readonly until: Promise<unknown> | undefined
  readonly marked: boolean
  readonly children: FollowOptions['children']
  readonly listener: Listener | undefined
  readonly changes: Notifier
  readonly signal: AbortSignal
}

async function* followEvents(
  source: Source,
  run: string,
  following: FollowContext,
): AsyncGenerator<FollowedEvent, RestStatus | undefined> {
  const { store } = source
  const { after, since, listener, changes, signal } = following
  using news = watchEntries(source, run, { signal, wake: changes.notify, until: following.until })
  using below = followChildren(source, run, following)
  let { marked } = following
  // earlier entries tell which child runs are in progress
  let seq = below ? 0 : after
  let latest: RunStatus | undefined
  try {
    for (;;) {
      const ended = news.take()
      if (ended === 'closed') return undefined
      // read before the entries, which then include the entry that set this status
      const known = latest ?? (await store.row(run))?.status
      for await (const { entry } of readEntries(store, run, seq)) {
        if (below) yield* below.before(entry)
        const isKnown = entry.seq <= after
        if (listener && !isKnown) yield* listener.before(run, entry, entry.seq > since)
        if (signal.aborted) return undefined
        seq = entry.seq
        latest = statusAfter(entry) ?? latest
        below?.note(entry)
        if (!isKnown) yield entry
      }
      const status = latest ?? known
      if (signal.aborted) return undefined
      if (status !== 'running' && status !== 'queued') return status
      if (below) yield* below.read()
      if (marked) yield { type: 'caught-up', entry: Math.max(seq, after) }
      marked = false
      do {
        if (listener) yield* listener.deltas((of) => (of === run ? seq : below?.seqOf(of)))
        if (ended) throw ended.error
        if (!news.isPending() && !below?.isPending()) await waitKeepingAlive(source.world, changes)
        if (below && !news.isPending()) yield* below.read()
      } while (!news.isPending())
    }
  } finally {
    listener?.stop()
  }
}

/** The child runs of a followed run, at every depth. */
interface ChildFollower extends Disposable {
  /** Yields what must come before this entry of the run. */
  before(entry: Entry): AsyncGenerator<Delta | ChildEntry>
  /** Follows the child run that an entry of the run starts. */
  note(entry: Entry): void
  /** Yields what is new. */
  read(): AsyncGenerator<Delta | ChildEntry>
  isPending(): boolean
  /** Up to which entry a child run was read; undefined if it isn't followed. */
  seqOf(run: string): number | undefined
}

interface FollowedChild {
  readonly run: string
  /** Its own child runs. */
  readonly children: Children
  seq: number
  stop(): void
}
/** By id, in the order in which they were started. */
type Children = Map<string, FollowedChild>

function followChildren(source: Source, root: string, following: FollowContext): ChildFollower | undefined {
  const { store } = source
  const { after, since, children: isIncluded, listener, changes, signal } = following
  if (!isIncluded && !listener) return undefined
  /** All child runs that are followed, at every depth. */
  const followed: Children = new Map()
  /** Child runs that may have new entries. */
  const pending = new Set<FollowedChild>()
  const top: Children = new Map()

  function open(run: string): FollowedChild {
    const children: Children = new Map()
    const wake = (): void => {
      if (followed.get(run) === child) pending.add(child)
      changes.notify()
    }
    const news = watchEntries(source, run, { signal, wake })
    const stop = (): void => {
      followed.delete(run)
      pending.delete(child)
      news[Symbol.dispose]()
      for (const inner of children.values()) inner.stop()
    }
    const child: FollowedChild = { run, children, seq: 0, stop }
    followed.set(run, child)
    pending.add(child)
    return child
  }

  function note(parent: string, entry: Entry, siblings: Children): void {
    const run = childStartedBy(parent, entry)
    if (run !== undefined && !siblings.has(run)) siblings.set(run, open(run))
  }

  async function* readPending(runs: Children): AsyncGenerator<Delta | ChildEntry> {
    if (pending.size > 0) for (const child of runs.values()) yield* readChild(child, runs, false)
  }

  /** Reads the child runs that an entry of their parent may follow on from: a hint may come later than the entry. */
  async function* readBefore(parent: string, entry: Entry, runs: Children): AsyncGenerator<Delta | ChildEntry> {
    const status = statusAfter(entry)
    const isAll = status !== undefined && status !== 'running'
    const of = isAll || entry.path === undefined ? undefined : runs.get(childRunId(parent, entry.path))
    if (isAll) for (const child of runs.values()) yield* readChild(child, runs, true)
    else if (of) yield* readChild(of, runs, true)
    yield* readPending(runs)
  }

  async function* readChild(
    child: FollowedChild,
    siblings: Children,
    isDue: boolean,
  ): AsyncGenerator<Delta | ChildEntry> {
    const { run, children } = child
    const isHinted = pending.delete(child)
    if (isDue || isHinted) {
      for await (const { entry } of readEntries(store, run, child.seq)) {
        yield* readBefore(run, entry, children)
        if (listener) yield* listener.before(run, entry, !isIncluded)
        if (signal.aborted) return
        child.seq = entry.seq
        if (isIncluded) yield { type: 'child.entry', path: run.slice(root.length + 1), entry }
        note(run, entry, children)
        if (!isEnded(statusAfter(entry))) continue
        child.stop()
        siblings.delete(run)
        return
      }
    }
    if (isDue) for (const inner of children.values()) yield* readChild(inner, children, true)
    else yield* readPending(children)
  }

  /** Whether the entry was written before there was anything to hear. */
  const isHistory = (seq: number): boolean => seq <= (after > 0 ? after : since)

  return {
    async *before(entry) {
      if (isIncluded || !isHistory(entry.seq)) return yield* readBefore(root, entry, top)
      if (entry.type !== 'task.completed' || entry.path === undefined) return
      // all of its words are history
      const ended = childRunId(root, entry.path)
      top.get(ended)?.stop()
      top.delete(ended)
    },
    note(entry) {
      if (!isIncluded || isIncluded(taskInPath(entry.path ?? ''))) note(root, entry, top)
    },
    read: () => readPending(top),
    isPending: () => pending.size > 0,
    seqOf: (run) => followed.get(run)?.seq,
    [Symbol.dispose]() {
      for (const child of top.values()) child.stop()
    },
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

function watchEntries(
  { store }: Source,
  run: string,
  { signal, wake, until }: { readonly signal: AbortSignal; wake(): void; readonly until?: FollowOptions['until'] },
): EntryWatch {
  let hinted = true
  let ended: FollowEnd | undefined
  const look = (): void => {
    hinted = true
    wake()
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
