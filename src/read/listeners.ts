// Streams model replies to listeners in the process that executes the run. They belong to a run tree: a listener to a
// run also hears the models of its child runs. Deltas are not journaled. The pieces of the current reply are stored
// once, until the reply is recorded; each listener only has a cursor. So listeners never delay a model call, a slow
// listener gets several pieces joined into one, and a late listener gets the reply from its start.
import type { Entry, ReplyPart } from '../journal/entries.ts'
import type { ModelListener } from '../models/call-model.ts'

/**
 * A piece of a reply that is being streamed. It isn't journaled and has no number; the entry with its path has the
 * reply. Paths of child runs begin with the attempt that created the run: `article[rye]#1/draft#1/1`.
 */
export type Delta =
  | { readonly type: 'text.delta'; readonly path: string; readonly text: string }
  | { readonly type: 'reasoning.delta'; readonly path: string; readonly text: string }
  /** Discard all deltas of this path: the try failed, or they are sent again. */
  | { readonly type: 'text.reset'; readonly path: string }
  /** The reply at this path of a child run is recorded there. The deltas of the path are its whole text. */
  | { readonly type: 'text.end'; readonly path: string }

/** Marks the end of history: all events that existed when following began were delivered. */
export interface CaughtUpEvent {
  readonly type: 'caught-up'
  /** The last entry that was delivered. */
  readonly entry: number
}

export type RunEvent = Entry | Delta

/** The listeners of a run tree. */
export interface Listeners {
  /**
   * Returns the receiver of one model call's reply in `run`. `after`: the last entry before the call; listeners get all
   * entries up to it first. Dispose of the receiver when the reply is recorded or the call has failed.
   */
  streamReply(run: string, path: string, after: number): ModelListener & Disposable
  /** Call it with entries that are on disk. */
  appended(run: string, entries: readonly Entry[]): void
  /** Adds a listener to a run and its child runs. */
  listen(run: string, options: ListenOptions): Listener
}

interface ListenOptions {
  /** Called when there may be new deltas. */
  readonly wake: () => void
  /**
   * Whether the caller may already have received the start of a reply from another listener: each reply then begins
   * with a reset.
   */
  readonly again: boolean
}

export interface Listener {
  /** Yields the new deltas. `seqOf`: up to which entry the listener has a run; undefined if it isn't followed. */
  deltas(seqOf: (run: string) => number | undefined): Generator<Delta>
  /**
   * Yields the deltas that a listener must get before this entry: the rest of the reply that the entry records.
   * `isNew`: the whole reply, even if nothing of it was streamed to this listener.
   */
  before(run: string, entry: Entry, isNew: boolean): Generator<Delta>
  stop(): void
}

interface StreamedReply {
  readonly run: string
  readonly after: number
  pieces: { readonly type: DeltaType; readonly text: string }[]
}
type DeltaType = 'text' | 'reasoning'

/** How much of the reply at one path a listener has received: pieces, and characters of each type. */
interface DeltaCursor {
  readonly reply: StreamedReply | undefined
  next: number
  received: { [K in DeltaType]: number }
  /** The deltas sent so far are void; the listener gets a reset next. */
  void: boolean
}

interface ListenerState {
  readonly run: string
  /** By the path of the reply, which begins with the run. */
  readonly cursors: Map<string, DeltaCursor>
  wake(): void
}

export function createListeners(): Listeners {
  const members = new Set<ListenerState>()
  const replies = new Map<string, StreamedReply>()

  function reset(key: string, reply: StreamedReply): void {
    if (reply.pieces.length === 0) return
    reply.pieces = []
    for (const member of members) {
      const cursor = member.cursors.get(key)
      if (!cursor) continue
      cursor.void ||= cursor.next > 0
      cursor.next = 0
      member.wake()
    }
  }

  return {
    streamReply(run, path, after) {
      const reply: StreamedReply = { run, after, pieces: [] }
      const key = replyKey(run, path)
      replies.set(key, reply)
      return {
        listening: () => members.values().some((member) => isHeardBy(member, run)),
        onDelta(type, text) {
          reply.pieces.push({ type, text })
          for (const member of members) if (isHeardBy(member, run)) member.wake()
        },
        reset: () => reset(key, reply),
        [Symbol.dispose]() {
          // a recorded reply was already removed
          if (replies.get(key) !== reply) return
          reset(key, reply)
          replies.delete(key)
        },
      }
    },

    appended(run, entries) {
      for (const { type, path } of entries)
        if (type === 'model.replied' && path !== undefined) replies.delete(replyKey(run, path))
    },

    listen(run, { wake, again }) {
      const member: ListenerState = { run, cursors: new Map(), wake }
      members.add(member)
      return createListener(member, replies, { again, stop: () => void members.delete(member) })
    },
  }
}

/** The id of a child run is its parent's id and a path, so a path below it is also unique in the tree. */
function replyKey(run: string, path: string): string {
  return `${run}/${path}`
}

function isHeardBy(member: ListenerState, run: string): boolean {
  return run === member.run || run.startsWith(`${member.run}/`)
}

function createListener(
  member: ListenerState,
  replies: ReadonlyMap<string, StreamedReply>,
  { again, stop }: { readonly again: boolean; readonly stop: () => void },
): Listener {
  const { cursors } = member
  /** Replies whose entry this listener has, perhaps before `appended` was called with it. */
  const recorded = new WeakSet<StreamedReply>()
  const pathOf = (key: string): string => key.slice(member.run.length + 1)

  function* resets(): Generator<Delta> {
    for (const [key, cursor] of cursors) {
      if (!cursor.void) continue
      cursor.void = false
      cursor.received = { text: 0, reasoning: 0 }
      yield { type: 'text.reset', path: pathOf(key) }
    }
  }

  function* begin(key: string, reply?: StreamedReply): Generator<Delta, DeltaCursor> {
    const cursor: DeltaCursor = { reply, next: 0, received: { text: 0, reasoning: 0 }, void: false }
    cursors.set(key, cursor)
    if (again) yield { type: 'text.reset', path: pathOf(key) }
    return cursor
  }

  return {
    *deltas(seqOf) {
      yield* resets()
      for (const [key, reply] of replies) {
        const isDue = isHeardBy(member, reply.run) && reply.after <= (seqOf(reply.run) ?? -1)
        if (!isDue || reply.pieces.length === 0 || recorded.has(reply)) continue
        const known = cursors.get(key)
        const cursor = known?.reply === reply ? known : yield* begin(key, reply)
        // only the pieces that exist now: a model that never pauses must not hold up entries and other replies
        const end = reply.pieces.length
        while (!cursor.void && cursor.next < end) {
          const { type } = reply.pieces[cursor.next] as StreamedReply['pieces'][number]
          let text = ''
          for (; reply.pieces[cursor.next]?.type === type && cursor.next < end; cursor.next++)
            text += reply.pieces[cursor.next]?.text
          cursor.received[type] += text.length
          yield { type: `${type}.delta`, path: pathOf(key), text }
        }
      }
    },

    *before(run, entry, isNew) {
      yield* resets()
      const { type, path, seq } = entry
      if (type !== 'model.replied' || path === undefined) return
      const key = replyKey(run, path)
      const reply = replies.get(key)
      const isItsRecord = reply !== undefined && seq > reply.after
      if (isItsRecord) recorded.add(reply)
      const cursor = cursors.get(key) ?? (isItsRecord || isNew ? yield* begin(key) : undefined)
      cursors.delete(key)
      if (!cursor) return
      const { received } = cursor
      for (const part of ['reasoning', 'text'] as const) {
        const text = replyTextOfType(entry.parts, part).slice(received[part])
        received[part] += text.length
        if (text !== '') yield { type: `${part}.delta`, path: pathOf(key), text }
      }
      // in the run itself, the entry is the end
      if (run !== member.run && received.text + received.reasoning > 0) yield { type: 'text.end', path: pathOf(key) }
    },

    stop,
  }
}

function replyTextOfType(parts: readonly ReplyPart[], type: DeltaType): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('')
}
