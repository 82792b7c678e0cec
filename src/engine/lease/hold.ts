// A hold is this process's right to advance one run, and the only way to append to it. An entry is numbered and folded
// into the state at once; entries that arrive during an append are batched into the next one. A lazy entry waits up to
// `lazyMs` for an append to join, since no effect depends on it yet. When an append fails, the hold ends: its signal
// aborts, nothing more is written, and every later call throws that error.
import { messageOf, RepriseError } from '../../base/errors.ts'
import { encodeEntry, type EncodedEntry } from '../../journal/codec.ts'
import type { NewEntry } from '../../journal/entries.ts'
import { changesRow, isProgress } from '../../journal/table/entry-table.ts'
import { parentRunId } from '../../journal/paths.ts'
import { applyEntry } from '../../journal/state/fold.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import { redact } from '../../secrets/redact.ts'
import { createNotifier, type Notifier, serially, type SerialQueue } from '../../base/notifier.ts'
import type { Patience } from '../../stores/patient-store.ts'
import type { Batch } from '../../stores/store.ts'
import type { Engine } from '../definition.ts'
import { jumpBetween, currentMoment, type Moment } from '../../base/clock.ts'
import { unlessAborted, noteSteps } from '../limits/time.ts'
import { dueAt } from '../../read/row-summary.ts'
import type { LoadedRun } from '../../read/read-run.ts'
import { outputKeys, listingRow } from '../../read/row.ts'
import type { LeasedTree } from './leased-tree.ts'

/** How long a lazy entry may wait for another append to join. */
const lazyMs = 20

export interface Hold {
  readonly engine: Engine
  readonly state: RunState
  /** The run tree, which has one lease. */
  readonly tree: LeasedTree
  /** Aborts when the hold ends; the reason is a RepriseError or `stopped`. */
  readonly signal: AbortSignal
  /** Serialises reads of the inbox: two at once would record the same message twice. */
  readonly inbox: SerialQueue
  /** Set when the inbox may have messages. */
  readonly mail: Notifier
  /** Set when the inbox of a child run that isn't in progress may have messages. */
  readonly mailBelow: Notifier
  /** Sets `mail` and `mailBelow`. */
  hint(): void
  /** Resolves when the entries are on disk. `taken` are the inbox messages that they record. */
  append(entries: readonly NewEntry[], taken?: readonly string[]): Promise<void>
  /**
   * Applies lazy entries: in the state at once, on disk with the next append or after `lazyMs`. Only for entries that
   * no user code depends on yet: a model may be called before they are on disk, and lost entries are made again. Throws
   * when the hold has ended.
   */
  note(entries: readonly NewEntry[]): void
  /**
   * Appends the entry that ends this process's work. False, with nothing written, if a message arrived before a run
   * could be completed.
   */
  end(entry: NewEntry): Promise<boolean>
  /** Puts the entry before the next append, without one of its own. A newer mark replaces it. */
  mark(entry: NewEntry): void
  /**
   * Await it before calling user code: resolves when everything now in the state is on disk. Rejects when the lease is
   * lost.
   */
  ready(): Promise<void>
  /** Await it before calling a model: resolves when enough of the lease is left. Rejects when it is lost. */
  held(): Promise<void>
  /** Milliseconds since the last entry of the state, or since this process opened the hold. */
  elapsedMs(): number
  /** The next free question id of the run. */
  questionId(): string
  /** Ends the work in this process without touching the journal. */
  stop(reason: unknown): void
  /**
   * Waits for pending writes. Returns how many messages wait for the run tree if this also releases its lease, else 0.
   */
  release(): Promise<number>
}

/** How long to wait out an outage of the store, and a callback for outages. */
interface HoldOptions extends Pick<Patience, 'limitMs' | 'onOutage'> {
  /** For a new run, which has no messages yet: when its first entries were made. */
  readonly made?: Moment
  /** Releasing the hold also releases the tree. */
  readonly ownsTree?: boolean
}

export function openHold(
  given: Engine,
  unit: LeasedTree,
  read: LoadedRun,
  { made, ownsTree = false, ...patience }: HoldOptions = {},
): Hold {
  const { lease } = unit
  const { state } = read
  const { run } = state
  const controller = new AbortController()
  const store = given.store.withPatience({ ...patience, signal: controller.signal })
  const engine = { ...given, store }
  const { world } = engine
  const letGo = (reason: unknown): void => {
    if (!controller.signal.aborted) controller.abort(reason)
  }
  let broken: RepriseError | undefined
  let released: RepriseError | undefined
  const mail = createNotifier(made === undefined)
  const mailBelow = createNotifier(true)
  const hint = (): void => {
    mail.notify()
    mailBelow.notify()
  }
  const fail = (error: unknown): RepriseError => {
    broken ??= RepriseError.isInstance(error) ? error : storeFailed(run, error)
    letGo(broken)
    return broken
  }
  const leave = unit.join({ run, fail, mail: hint })
  let prev = read.hash
  /** When the last entry was made. */
  let last = made ?? currentMoment(world)
  /** Numbered and in the state, not yet on disk. */
  let unwritten: EncodedAppend[] = []
  /** The entry that ends the work. Entries after it wait in `after` until the outcome of the end is known. */
  let ending: { readonly entry: NewEntry; resolve(isWritten: boolean): void; reject(error: unknown): void } | undefined
  let after: PendingAppend[] = []
  let marked: NewEntry | undefined
  /** Resolves when everything numbered so far is on disk. */
  let numbered: Promise<unknown> = Promise.resolve()
  let writing: Promise<void> | undefined
  let timer: Disposable | undefined
  let questions = Math.max(0, ...[...state.questions.keys()].map((id) => Number(id.slice(1)) || 0))

  const encode = (entries: readonly NewEntry[]): EncodedEntry[] =>
    entries.map((fresh) => {
      const now = currentMoment(world)
      const jump = jumpBetween(last, now)
      last = now
      const stamp = { seq: state.seq + 1, at: isoTime(now.day), token: lease.token, prev }
      const encoded = encodeEntry(fresh, jump === 0 ? stamp : { ...stamp, jump })
      applyEntry(state, encoded.entry)
      prev = encoded.hash
      return encoded
    })

  const withMark = (entries: readonly NewEntry[]): EncodedEntry[] => {
    const all = marked ? [marked, ...entries] : entries
    marked = undefined
    return encode(all)
  }

  const refusalOf = (): RepriseError | undefined =>
    broken ?? released ?? (isEnded(state.status) ? runOverError(state) : undefined)

  const admit = (fresh: PendingAppend): void => {
    const refusal = refusalOf()
    if (refusal) return fresh.reject(refusal)
    try {
      unwritten.push({ ...fresh, encoded: withMark(fresh.entries) })
    } catch (error) {
      // the state may be ahead of what can be written
      return fresh.reject(fail(error))
    }
    numbered = fresh.promise
    if (!fresh.isLazy) return write()
    timer ??= world.timer(lazyMs, write, true)
  }

  /** Waits a microtask, so that entries of parallel calls share an append. */
  const write = (): void => {
    timer?.[Symbol.dispose]()
    timer = undefined
    writing ??= Promise.resolve().then(flush)
  }

  const isLeft = (): boolean => unwritten.length > 0 || ending !== undefined

  const flush = async (): Promise<void> => {
    while (isLeft()) {
      if (ending && isEnded(state.status)) {
        const { reject } = ending
        settle(() => reject(runOverError(state)))
        continue
      }
      const items = unwritten
      unwritten = []
      const end = ending
      const before = end && { state: { ...state }, prev, marked, last }
      try {
        if (broken) throw broken
        const encoded = items.flatMap((item) => item.encoded)
        const first = encoded[0]?.entry.seq ?? state.seq + 1
        const whole = end ? [...encoded, ...withMark([end.entry])] : encoded
        const taken = items.flatMap((item) => item.taken)
        unit.noteMessages(await store.append(lease, first - 1, toBatch(state, whole, taken)))
        for (const item of items) item.resolve()
        const entries = whole.map((item) => item.entry)
        engine.appended?.(run, entries)
        if (end) settle(() => end.resolve(true))
      } catch (error) {
        if (end && before && isInboxWaiting(error)) {
          restoreState(state, before.state)
          prev = before.prev
          last = before.last
          marked = before.marked
          unwritten = [...items, ...unwritten]
          mail.notify()
          settle(() => end.resolve(false))
          continue
        }
        const failure = fail(error)
        if (failure.code === 'LEASE_LOST') unit.fail(failure)
        for (const item of items) item.reject(failure)
        if (end) settle(() => end.reject(failure))
      }
    }
    // synchronously: an entry that arrives before the next turn must start another flush
    writing = undefined
  }

  /** The outcome of the end is known: admits the entries that waited for it. */
  const settle = (tell: () => void): void => {
    ending = undefined
    tell()
    for (const fresh of after.splice(0)) admit(fresh)
  }

  const handIn = (fresh: PendingAppend): void => {
    noteSteps(unit.slice, fresh.entries)
    if (ending) after.push(fresh)
    else admit(fresh)
  }

  return {
    engine,
    state,
    tree: unit,
    signal: controller.signal,
    inbox: serially(),
    mail,
    mailBelow,
    hint,
    append(entries, taken = []) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      handIn({ entries, taken, isLazy: false, promise, resolve, reject })
      return promise
    },
    note(entries) {
      const refusal = refusalOf()
      if (refusal) throw refusal
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      // a failed write ends the hold, so its error reaches every caller
      promise.catch(() => undefined)
      handIn({ entries, taken: [], isLazy: true, promise, resolve, reject })
      if (broken) throw broken
    },
    end(entry) {
      const { promise, resolve, reject } = Promise.withResolvers<boolean>()
      const refusal = broken ?? released
      if (refusal) reject(refusal)
      else {
        ending = { entry, resolve, reject }
        write()
      }
      return promise
    },
    mark: (entry) => void (marked = entry),
    async ready() {
      controller.signal.throwIfAborted()
      if (unwritten.length > 0) write()
      if (writing) {
        await unlessAborted(
          numbered.catch(() => undefined),
          controller.signal,
        )
      }
      await unit.ready(controller.signal)
      controller.signal.throwIfAborted()
    },
    async held() {
      controller.signal.throwIfAborted()
      await unit.ready(controller.signal)
      controller.signal.throwIfAborted()
    },
    elapsedMs: () => world.monotonic() - last.monotonic,
    questionId: () => `q${++questions}`,
    stop: letGo,
    async release() {
      let left = 0
      try {
        if (unwritten.length > 0) write()
        for (let pending = writing; pending; pending = writing) await pending
        // from here on no entry enters the state without reaching the disk
        released = new RepriseError('RUN_ENDED', `run ${run} is no longer executed here`, { runId: run })
        letGo(released)
        leave()
      } finally {
        left = ownsTree ? await unit.release() : 0
      }
      return left
    },
  }
}

interface PendingAppend {
  readonly entries: readonly NewEntry[]
  /** Ids of the inbox messages that the entries record. */
  readonly taken: readonly string[]
  readonly isLazy: boolean
  readonly promise: Promise<void>
  resolve(): void
  reject(error: unknown): void
}

interface EncodedAppend extends PendingAppend {
  readonly encoded: readonly EncodedEntry[]
}

let lastTime = { ms: Number.NaN, text: '' }

/** Cached: entries of many runs share a millisecond, and formatting it is most of the cost of an entry. */
function isoTime(ms: number): string {
  if (ms !== lastTime.ms) lastTime = { ms, text: new Date(ms).toISOString() }
  return lastTime.text
}

/** A shallow copy is enough: an end, and a mark before it, only change top-level members of the state. */
function restoreState(state: RunState, before: RunState): void {
  for (const name of Object.keys(state)) if (!(name in before)) Reflect.deleteProperty(state, name)
  Object.assign(state, before)
}

function isInboxWaiting(error: unknown): boolean {
  return RepriseError.isInstance(error) && error.code === 'INBOX_WAITING'
}

function runOverError({ run, status }: RunState): RepriseError {
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

/** The lines of an append, and everything that changes with them. */
export function toBatch(state: RunState, encoded: readonly EncodedEntry[], taken: readonly string[] = []): Batch {
  const lines = encoded.map(({ entry, bytes, hash }) => ({ seq: entry.seq, bytes, hash }))
  const blobs = encoded.flatMap((item) => item.blobs)
  const entries = encoded.map((item) => item.entry)
  const batch: Batch = {
    ...(parentRunId(state.run) === undefined ? {} : { run: state.run }),
    lines,
    blobs,
    taken,
    // messages count as progress too
    ...(taken.length > 0 || entries.some(isProgress) ? { progress: true } : {}),
  }
  // most entries are steps, which do not change the listing
  if (!entries.some(changesRow)) return batch
  const due = dueAt(state)
  return {
    ...batch,
    row: listingRow(state),
    ...(due === undefined ? {} : { due }),
    outputs: outputKeys(state, entries),
  }
}
