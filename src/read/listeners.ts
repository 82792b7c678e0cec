// Streams model replies to listeners in the process that executes the run. Deltas are not journaled. The pieces of the
// current reply are stored once, until the reply is recorded; each listener only has a cursor. So listeners never delay
// a model call, a slow listener gets several pieces joined into one, and a late listener gets the reply from its start.
import type { Entry, ReplyPart } from '../journal/entries.ts'
import type { ModelListener } from '../models/call-model.ts'

/**
 * A piece of a reply that is being streamed. It isn't journaled and has no number; the entry with its path has the
 * reply.
 */
export type Delta =
  | { readonly type: 'text.delta'; readonly path: string; readonly text: string }
  | { readonly type: 'reasoning.delta'; readonly path: string; readonly text: string }
  /** Discard all deltas of this path: the try failed, and its text will not be journaled. */
  | { readonly type: 'text.reset'; readonly path: string }

/** Marks the end of history: all events that existed when following began were delivered. */
export interface CaughtUpEvent {
  readonly type: 'caught-up'
  /** The last entry that was delivered. */
  readonly entry: number
}

export type RunEvent = Entry | Delta

/** The listeners of one run. */
export interface Listeners {
  /**
   * Returns the receiver of one model call's reply. `after`: the last entry before the call; listeners get all entries
   * up to it first. Dispose of the receiver when the reply is recorded or the call has failed.
   */
  streamReply(path: string, after: number): ModelListener & Disposable
  /** Call it with entries that are on disk. */
  appended(entries: readonly Entry[]): void
  /**
   * Adds a listener. `wake` is called when there may be new deltas. `again`: the caller may already have received the
   * start of a reply from another listener, so each reply begins with a reset.
   */
  listen(wake: () => void, again: boolean): Listener
}

export interface Listener {
  /** Yields the new deltas for a listener that has all entries up to `seq`. */
  deltas(seq: number): Generator<Delta>
  /** Yields the deltas that a listener must get before this entry: the rest of the reply that the entry records. */
  before(entry: Entry): Generator<Delta>
  stop(): void
}

interface StreamedReply {
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
  readonly cursors: Map<string, DeltaCursor>
  /** The first entry appended since listening started. */
  since: number | undefined
  wake(): void
}

export function createListeners(): Listeners {
  const members = new Set<ListenerState>()
  const replies = new Map<string, StreamedReply>()

  function reset(path: string, reply: StreamedReply): void {
    if (reply.pieces.length === 0) return
    reply.pieces = []
    for (const member of members) {
      const cursor = member.cursors.get(path)
      if (!cursor) continue
      cursor.void ||= cursor.next > 0
      cursor.next = 0
      member.wake()
    }
  }

  return {
    streamReply(path, after) {
      const reply: StreamedReply = { after, pieces: [] }
      replies.set(path, reply)
      return {
        listening: () => members.size > 0,
        onDelta(type, text) {
          reply.pieces.push({ type, text })
          for (const member of members) member.wake()
        },
        reset: () => reset(path, reply),
        [Symbol.dispose]() {
          // a recorded reply was already removed
          if (replies.get(path) !== reply) return
          reset(path, reply)
          replies.delete(path)
        },
      }
    },

    appended(entries) {
      for (const member of members) member.since ??= entries[0]?.seq
      for (const { type, path } of entries) if (type === 'model.replied' && path !== undefined) replies.delete(path)
    },

    listen(wake, again) {
      const member: ListenerState = { cursors: new Map(), since: undefined, wake }
      members.add(member)
      return createListener(member, replies, { again, stop: () => void members.delete(member) })
    },
  }
}

function createListener(
  member: ListenerState,
  replies: ReadonlyMap<string, StreamedReply>,
  { again, stop }: { readonly again: boolean; readonly stop: () => void },
): Listener {
  const { cursors } = member
  /** Replies whose entry this listener has, perhaps before `appended` was called with it. */
  const recorded = new WeakSet<StreamedReply>()

  function* resets(): Generator<Delta> {
    for (const [path, cursor] of cursors) {
      if (!cursor.void) continue
      cursor.void = false
      cursor.received = { text: 0, reasoning: 0 }
      yield { type: 'text.reset', path }
    }
  }

  function* begin(path: string, reply?: StreamedReply): Generator<Delta, DeltaCursor> {
    const cursor: DeltaCursor = { reply, next: 0, received: { text: 0, reasoning: 0 }, void: false }
    cursors.set(path, cursor)
    if (again) yield { type: 'text.reset', path }
    return cursor
  }

  return {
    *deltas(seq) {
      yield* resets()
      for (const [path, reply] of replies) {
        if (reply.after > seq || reply.pieces.length === 0 || recorded.has(reply)) continue
        const known = cursors.get(path)
        const cursor = known?.reply === reply ? known : yield* begin(path, reply)
        // only the pieces that exist now: a model that never pauses must not hold up entries and other replies
        const end = reply.pieces.length
        while (!cursor.void && cursor.next < end) {
          const { type } = reply.pieces[cursor.next] as StreamedReply['pieces'][number]
          let text = ''
          for (; reply.pieces[cursor.next]?.type === type && cursor.next < end; cursor.next++)
            text += reply.pieces[cursor.next]?.text
          cursor.received[type] += text.length
          yield { type: `${type}.delta`, path, text }
        }
      }
    },

    *before(entry) {
      yield* resets()
      const { type, path, seq } = entry
      if (type !== 'model.replied' || path === undefined) return
      const reply = replies.get(path)
      const isItsRecord = reply !== undefined && seq > reply.after
      if (isItsRecord) recorded.add(reply)
      const isLive = isItsRecord || (member.since !== undefined && seq >= member.since)
      const cursor = cursors.get(path) ?? (isLive ? yield* begin(path) : undefined)
      cursors.delete(path)
      if (!cursor) return
      for (const part of ['reasoning', 'text'] as const) {
        const text = replyTextOfType(entry.parts, part).slice(cursor.received[part])
        if (text !== '') yield { type: `${part}.delta`, path, text }
      }
    },

    stop,
  }
}

function replyTextOfType(parts: readonly ReplyPart[], type: DeltaType): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('')
}
