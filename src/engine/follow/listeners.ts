// What models say, while they say it, for listeners in the process that executes the run. None of it is journaled. What
// a model has said of its current reply is kept once, until the reply is recorded; a listener only has a position in
// it. So no listener can delay a model call, a slow one gets in one piece what came in many, and a late one gets it
// from the beginning.
import type { Entry, ReplyPart } from '../../journal/entries.ts'
import type { ModelListener } from '../../models/call-model.ts'

/**
 * What a listener gets besides the entries. It has no number and is not in the journal: the entry of its path is what
 * counts.
 */
export type Delta =
  | { readonly type: 'text.delta'; readonly path: string; readonly text: string }
  | { readonly type: 'reasoning.delta'; readonly path: string; readonly text: string }
  /** Forget all deltas of this path: that try failed, and none of it will be in the journal. */
  | { readonly type: 'text.reset'; readonly path: string }

/** What there was when following began has been given. What comes from here on is new. */
export interface CaughtUpEvent {
  readonly type: 'caught-up'
  /** The last entry that was given. */
  readonly entry: number
}

export type RunEvent = Entry | Delta

/** The listeners of one run. */
export interface Listeners {
  /**
   * For one model call. `after`: the last entry before it, which every listener gets first. Dispose it when the call is
   * recorded or over.
   */
  speaker(path: string, after: number): ModelListener & Disposable
  /** Call it with entries that are on disk. */
  appended(entries: readonly Entry[]): void
  /**
   * `wake` is called when there may be something to hear. `again`: the listener may already have got the beginning of
   * something, so it is told to forget that first.
   */
  listen(wake: () => void, again: boolean): Listener
}

export interface Listener {
  /** What there is for a listener that has all entries up to this one. */
  deltas(seq: number): Generator<Delta>
  /** What a listener must still get before this entry: the rest of the reply that it records. */
  before(entry: Entry): Generator<Delta>
  stop(): void
}

interface ModelSpeech {
  readonly after: number
  said: { readonly kind: DeltaKind; readonly text: string }[]
}
type DeltaKind = 'text' | 'reasoning'

/** How far a listener is with what is said at one path: how many pieces, and how many characters of each kind. */
interface DeltaCursor {
  readonly speech: ModelSpeech | undefined
  next: number
  heard: { [K in DeltaKind]: number }
  /** What was sent is void, and the listener doesn't know yet. */
  void: boolean
}

interface ListenerState {
  readonly places: Map<string, DeltaCursor>
  /** The first entry that was appended since it started to listen. */
  since: number | undefined
  wake(): void
}

export function createListeners(): Listeners {
  const members = new Set<ListenerState>()
  const speeches = new Map<string, ModelSpeech>()

  function reset(path: string, speech: ModelSpeech): void {
    if (speech.said.length === 0) return
    speech.said = []
    for (const member of members) {
      const place = member.places.get(path)
      if (!place) continue
      place.void ||= place.next > 0
      place.next = 0
      member.wake()
    }
  }

  return {
    speaker(path, after) {
      const speech: ModelSpeech = { after, said: [] }
      speeches.set(path, speech)
      return {
        listening: () => members.size > 0,
        onDelta(kind, text) {
          speech.said.push({ kind, text })
          for (const member of members) member.wake()
        },
        reset: () => reset(path, speech),
        [Symbol.dispose]() {
          // recorded ones are gone already
          if (speeches.get(path) !== speech) return
          reset(path, speech)
          speeches.delete(path)
        },
      }
    },

    appended(entries) {
      for (const member of members) member.since ??= entries[0]?.seq
      for (const { type, path } of entries) if (type === 'model.replied' && path !== undefined) speeches.delete(path)
    },

    listen(wake, again) {
      const member: ListenerState = { places: new Map(), since: undefined, wake }
      members.add(member)
      return createListener(member, speeches, { again, stop: () => void members.delete(member) })
    },
  }
}

function createListener(
  member: ListenerState,
  speeches: ReadonlyMap<string, ModelSpeech>,
  { again, stop }: { readonly again: boolean; readonly stop: () => void },
): Listener {
  const { places } = member
  /** Those whose entry this listener has, although whoever appended it may not know yet that it is on disk. */
  const recorded = new WeakSet<ModelSpeech>()

  function* resets(): Generator<Delta> {
    for (const [path, place] of places) {
      if (!place.void) continue
      place.void = false
      place.heard = { text: 0, reasoning: 0 }
      yield { type: 'text.reset', path }
    }
  }

  function* begin(path: string, speech?: ModelSpeech): Generator<Delta, DeltaCursor> {
    const place: DeltaCursor = { speech, next: 0, heard: { text: 0, reasoning: 0 }, void: false }
    places.set(path, place)
    if (again) yield { type: 'text.reset', path }
    return place
  }

  return {
    *deltas(seq) {
      yield* resets()
      for (const [path, speech] of speeches) {
        if (speech.after > seq || speech.said.length === 0 || recorded.has(speech)) continue
        const known = places.get(path)
        const place = known?.speech === speech ? known : yield* begin(path, speech)
        // only what is there by now: a model that speaks without a pause must not keep the entries and the others
        // waiting
        const end = speech.said.length
        while (!place.void && place.next < end) {
          const { kind } = speech.said[place.next] as ModelSpeech['said'][number]
          let text = ''
          for (; speech.said[place.next]?.kind === kind && place.next < end; place.next++)
            text += speech.said[place.next]?.text
          place.heard[kind] += text.length
          yield { type: `${kind}.delta`, path, text }
        }
      }
    },

    *before(entry) {
      yield* resets()
      const { type, path, seq } = entry
      if (type !== 'model.replied' || path === undefined) return
      const speech = speeches.get(path)
      const isItsRecord = speech !== undefined && seq > speech.after
      if (isItsRecord) recorded.add(speech)
      const lives = isItsRecord || (member.since !== undefined && seq >= member.since)
      const place = places.get(path) ?? (lives ? yield* begin(path) : undefined)
      places.delete(path)
      if (!place) return
      for (const kind of ['reasoning', 'text'] as const) {
        const text = replyTextOfKind(entry.parts, kind).slice(place.heard[kind])
        if (text !== '') yield { type: `${kind}.delta`, path, text }
      }
    },

    stop,
  }
}

function replyTextOfKind(parts: readonly ReplyPart[], kind: DeltaKind): string {
  return parts.map((part) => (part.type === kind ? part.text : '')).join('')
}
