// A hold is this process's right to advance one run, and the only way to append to it. Entries that are handed in while
// an append is in progress go together in the next one. When an append fails, the hold ends: every signal aborts,
// nothing more is written, and the error says so. The state is folded from what was handed in, in order, and is
// discarded with the hold.
import { messageOf, RepriseError } from '../../errors.ts'
import { encodeEntry, type EncodedEntry } from '../../journal/codec.ts'
import type { NewEntry } from '../../journal/entries.ts'
import { applyEntry } from '../../journal/state/fold.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import { redact } from '../../secrets/redact.ts'
import { serially, type Queue } from '../../serially.ts'
import type { Batch, Lease } from '../../stores/store.ts'
import { unlessAborted } from '../limits/deadline.ts'
import type { Engine } from '../definition.ts'
import { appendSurely } from './append-surely.ts'
import { keepLease, type Moment } from './lease-keeper.ts'
import type { ReadRun } from '../read/read-run.ts'
import { changesRow, outputKeys, rowOf } from '../read/row.ts'

export interface Hold {
  readonly engine: Engine
  readonly state: RunState
  /** Aborts when the hold ends, for whatever reason; the reason is a RepriseError or `stopped`. */
  readonly signal: AbortSignal
  /** Only one at a time reads the inbox, or two would record the same message. */
  readonly inbox: Queue
  /** Resolves when the entries are on disk. `taken` are the inbox messages that they record. */
  append(entries: readonly NewEntry[], taken?: readonly string[]): Promise<void>
  /**
   * Appends the entry that ends this process's work. False when the run was about to be completed and a message came
   * first: nothing is written.
   */
  end(entry: NewEntry): Promise<boolean>
  /**
   * An entry to put before the next append, whoever makes that; a newer one replaces it. It costs no append of its own.
   */
  mark(entry: NewEntry): void
  /**
   * Await it before every effect: resolves when everything that the state says now is on disk. Rejects when the lease
   * is lost or nearly over.
   */
  ready(): Promise<void>
  /** The next free question id of the run. */
  questionId(): string
  /** Ends the work in this process without touching the journal. */
  stop(reason: unknown): void
  release(): Promise<void>
}

/** `since` is a time from before the lease was requested. */
export function openHold(engine: Engine, lease: Lease, read: ReadRun, since: Moment): Hold {
  const { store, world } = engine
  const { state } = read
  const controller = new AbortController()
  const letGo = (reason: unknown): void => {
    if (!controller.signal.aborted) controller.abort(reason)
  }
  let broken: RepriseError | undefined
  let released: RepriseError | undefined
  const fail = (error: unknown): void => {
    broken ??= RepriseError.isInstance(error) ? error : storeFailed(lease.run, error)
    letGo(broken)
  }
  const keeper = keepLease(store, lease, world, since, fail)
  let prev = read.hash
  const waiting: Waiting[] = []
  let marked: NewEntry | undefined
  /** Entries that are in the state but perhaps not on disk yet. */
  let flight: Promise<void> | undefined
  let writing: Promise<void> | undefined
  let questions = Math.max(0, ...[...state.questions.keys()].map((id) => Number(id.slice(1)) || 0))

  const encode = (entries: readonly NewEntry[]): EncodedEntry[] =>
    entries.map((fresh) => {
      const at = isoTime(world.now())
      const encoded = encodeEntry(fresh, { seq: state.seq + 1, at, token: lease.token, prev })
      applyEntry(state, encoded.entry)
      prev = encoded.hash
      return encoded
    })

  /** What goes into one append: an end goes alone, since it may be refused. */
  const nextGroup = (): Waiting[] => {
    const end = waiting.findIndex((item) => item.isEnd)
    return waiting.splice(0, end < 0 ? waiting.length : Math.max(end, 1))
  }

  const flush = async (): Promise<void> => {
    while (waiting.length > 0) {
      const group = nextGroup()
      const refusal = broken ?? released
      if (refusal) {
        for (const item of group) item.reject(refusal)
        continue
      }
      const end = group[0]?.isEnd ? group[0] : undefined
      const before = end && { state: { ...state }, prev, marked }
      const written: Waiting[] = []
      try {
        const after = state.seq
        const encoded: EncodedEntry[] = []
        for (const item of group) {
          // nothing may follow the end of a run, whatever was about to be appended
          if (isEnded(state.status)) item.reject(runIsOver(state))
          else {
            encoded.push(...encode(marked ? [marked, ...item.entries] : item.entries))
            marked = undefined
            written.push(item)
          }
        }
        if (written.length === 0) continue
        const taken = written.flatMap((item) => item.taken)
        flight = appendSurely(engine, lease, after, toBatch(state, encoded, taken), () => keeper.ready())
        await flight
        for (const item of written) item.resolve(true)
        engine.appended?.(
          lease.run,
          encoded.map((item) => item.entry),
        )
      } catch (error) {
        if (end && before && RepriseError.isInstance(error) && error.code === 'INBOX_WAITING') {
          takeBack(state, before.state)
          prev = before.prev
          marked = before.marked
          end.resolve(false)
          continue
        }
        fail(error)
        for (const item of group) item.reject(broken)
      }
    }
    writing = undefined
  }

  const handIn = (item: Waiting): void => {
    waiting.push(item)
    // a microtask later, so that what parallel calls hand in at once is one append
    writing ??= Promise.resolve().then(flush)
  }

  return {
    engine,
    state,
    signal: controller.signal,
    inbox: serially(),
    append(entries, taken = []) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      handIn({ entries, taken, isEnd: false, resolve: () => resolve(), reject })
      return promise
    },
    end(entry) {
      const { promise, resolve, reject } = Promise.withResolvers<boolean>()
      handIn({ entries: [entry], taken: [], isEnd: true, resolve, reject })
      return promise
    },
    mark: (entry) => void (marked = entry),
    async ready() {
      controller.signal.throwIfAborted()
      await unlessAborted(flight?.catch(() => {}) ?? Promise.resolve(), controller.signal)
      await keeper.ready()
      controller.signal.throwIfAborted()
    },
    questionId: () => `q${++questions}`,
    stop: letGo,
    async release() {
      keeper.stop()
      for (let last = writing; last; last = writing) await last
      // from here on nothing is put into the state that would not be on disk
      released = new RepriseError('RUN_ENDED', `run ${lease.run} is no longer executed here`, { runId: lease.run })
      letGo(released)
      // what there is of the run is on disk; a lease that cannot be released expires
      if (broken?.code !== 'LEASE_LOST') await store.release(lease).catch(() => undefined)
    },
  }
}

let lastTime = { ms: Number.NaN, text: '' }

/** The entries of many runs share a millisecond, and formatting it takes longer than most of the work with it. */
function isoTime(time: Date): string {
  const ms = time.getTime()
  if (ms !== lastTime.ms) lastTime = { ms, text: time.toISOString() }
  return lastTime.text
}

/** An end, and a mark before it, only change members of the state itself. */
function takeBack(state: RunState, before: RunState): void {
  for (const name of Object.keys(state)) if (!(name in before)) Reflect.deleteProperty(state, name)
  Object.assign(state, before)
}

function runIsOver({ run, status }: RunState): RepriseError {
  return new RepriseError('RUN_ENDED', `run ${run} is ${status}, and nothing more is appended to it`, {
    runId: run,
  })
}

/** Wraps what a store throws, unless it is an error of ours. */
function storeFailed(run: string, cause: unknown): RepriseError {
  return new RepriseError('STORE_FAILED', `the store could not append to run ${run}: ${redact(messageOf(cause))}`, {
    runId: run,
    cause,
  })
}

interface Waiting {
  readonly entries: readonly NewEntry[]
  readonly taken: readonly string[]
  readonly isEnd: boolean
  resolve(written: boolean): void
  reject(error: unknown): void
}

/** Lines, and everything that changes with them. */
export function toBatch(state: RunState, encoded: readonly EncodedEntry[], taken: readonly string[] = []): Batch {
  const lines = encoded.map(({ entry, bytes }) => ({ seq: entry.seq, bytes }))
  const blobs = encoded.flatMap((item) => item.blobs)
  const entries = encoded.map((item) => item.entry)
  // a step, which is most of what is written, does not show in a listing
  if (!entries.some(changesRow)) return { lines, blobs, taken }
  return { lines, row: rowOf(state), outputs: outputKeys(state, entries), blobs, taken }
}
