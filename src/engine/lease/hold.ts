// A hold is this process's right to advance one run, and the only way to append to its journal. An entry is numbered
// and folded into the state at once; entries that arrive during an append are batched into the next one. A lazy entry
// waits up to `lazyMs` for another append to carry it, since no effect depends on it yet. When an append fails, the
// hold ends: its signal aborts, nothing more is written, and every later call throws that error.
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

/** How long a lazy entry may wait for another append. */
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
  /** Resolves when the entries are on disk. `taken`: the ids of the inbox messages that they record. */
  append(entries: readonly NewEntry[], taken?: readonly string[]): Promise<void>
  /**
   * Adds lazy entries: to the state at once, to the disk with the next append or after `lazyMs`. Only for entries that
   * no user code depends on yet: a model may be called before they are on disk, and if they are lost, a resume repeats
   * their work. Throws if the hold has ended.
   */
  note(entries: readonly NewEntry[]): void
  /**
   * Appends the entry that ends this process's work. Resolves with false, and writes nothing, if a message arrived
   * before the run could be completed.
   */
  end(entry: NewEntry): Promise<boolean>
  /** Writes the entry as the first of the next append. A newer mark replaces it. */
  mark(entry: NewEntry): void
  /**
   * Await it before calling user code: resolves when everything now in the state is on disk. Rejects when the lease is
   * lost.
   */
  ready(): Promise<void>
  /** Await it before calling a model: resolves when enough of the lease is left. Rejects when the lease is lost. */
  held(): Promise<void>
  /** Milliseconds since the last entry of the state, or since this process opened the hold. */
  elapsedMs(): number
  /** The next free question id of the run. */
  questionId(): string
  /** Ends the work in this process without touching the journal. */
  stop(reason: unknown): void
  /**
   * Waits for pending writes and ends the hold. If the hold owns the tree, releases the lease too, and resolves with
   * the number of messages waiting for the run tree; otherwise with 0.
   */
  release(): Promise<number>
}

interface HoldOptions extends Pick<Patience, 'limitMs' | 'onOutage'> {
  /** For a new run, which has no messages yet: when its first entries were made. */
  readonly made?: Moment
  /** Releasing the hold also releases the tree. */
  readonly ownsTree?: boolean
}

export function openHold(
  outerEngine: Engine,
  tree: LeasedTree,
  read: LoadedRun,
  { made, ownsTree = false, ...patience }: HoldOptions = {},
): Hold {
  const { lease } = tree
  const { state } = read
  const { run } = state
  const controller = new AbortController()
  const store = outerEngine.store.withPatience({ ...patience, signal: controller.signal })
  const engine = { ...outerEngine, store }
  const { world } = engine
  const abort = (reason: unknown): void => {
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
    abort(broken)
    return broken
  }
  const leave = tree.join({ run, fail, mail: hint })
  let prev = read.hash
  /** The moment of the last entry. */
  let last = made ?? currentMoment(world)
  /** Appends that are numbered and in the state, but not on disk. */
  let unwritten: EncodedAppend[] = []
  /** The entry that ends the work, while its outcome is unknown. Later appends wait in `after`. */
  let ending: { readonly entry: NewEntry; resolve(isWritten: boolean): void; reject(error: unknown): void } | undefined
  let after: PendingAppend[] = []
  let marked: NewEntry | undefined
  /** Resolves when everything numbered so far is on disk. */
  let numbered: Promise<unknown> = Promise.resolve()
  let writing: Promise<void> | undefined
  let timer: Disposable | undefined
  let questions = Math.max(0, ...[...state.questions.keys()].map((id) => Number(id.slice(1)) || 0))

  const encode = (entries: readonly NewEntry[]): EncodedEntry[] =>
    entries.map((entry) => {
      const now = currentMoment(world)
      const jump = jumpBetween(last, now)
      last = now
      const stamp = { seq: state.seq + 1, at: isoTime(now.day), token: lease.token, prev }
      const encoded = encodeEntry(entry, jump === 0 ? stamp : { ...stamp, jump })
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

  const admit = (append: PendingAppend): void => {
    const refusal = refusalOf()
    if (refusal) return append.reject(refusal)
    try {
      unwritten.push({ ...append, encoded: withMark(append.entries) })
    } catch (error) {
      // the state may already hold entries that cannot be written
      return append.reject(fail(error))
    }
    numbered = append.promise
    if (!append.isLazy) return write()
    timer ??= world.timer(lazyMs, write, true)
  }

  /** Waits a microtask, so that entries of parallel calls share an append. */
  const write = (): void => {
    timer?.[Symbol.dispose]()
    timer = undefined
    writing ??= Promise.resolve().then(flush)
  }

  const hasWork = (): boolean => unwritten.length > 0 || ending !== undefined

  const flush = async (): Promise<void> => {
    while (hasWork()) {
      if (ending && isEnded(state.status)) {
        const { reject } = ending
        settleEnd(() => reject(runOverError(state)))
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
        tree.noteMessages(await store.append(lease, first - 1, toBatch(state, whole, taken)))
        for (const item of items) item.resolve()
        const entries = whole.map((item) => item.entry)
        engine.appended?.(run, entries)
        if (end) settleEnd(() => end.resolve(true))
      } catch (error) {
        if (end && before && isInboxWaiting(error)) {
          restoreState(state, before.state)
          prev = before.prev
          last = before.last
          marked = before.marked
          unwritten = [...items, ...unwritten]
          mail.notify()
          settleEnd(() => end.resolve(false))
          continue
        }
        const failure = fail(error)
        if (failure.code === 'LEASE_LOST') tree.fail(failure)
        for (const item of items) item.reject(failure)
        if (end) settleEnd(() => end.reject(failure))
      }
    }
    // no await after the loop: an entry that arrives from here on must start another flush
    writing = undefined
  }

  /** Settles the end, and admits the appends that waited for its outcome. */
  const settleEnd = (settle: () => void): void => {
    ending = undefined
    settle()
    for (const append of after.splice(0)) admit(append)
  }

  const submit = (append: PendingAppend): void => {
    noteSteps(tree.slice, append.entries)
    if (ending) after.push(append)
    else admit(append)
  }

  return {
    engine,
    state,
    tree,
    signal: controller.signal,
    inbox: serially(),
    mail,
    mailBelow,
    hint,
    append(entries, taken = []) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      submit({ entries, taken, isLazy: false, promise, resolve, reject })
      return promise
    },
    note(entries) {
      const refusal = refusalOf()
      if (refusal) throw refusal
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      // not lost: a failed write ends the hold, and every later call throws its error
      promise.catch(() => undefined)
      submit({ entries, taken: [], isLazy: true, promise, resolve, reject })
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
      await tree.ready(controller.signal)
      controller.signal.throwIfAborted()
    },
    async held() {
      controller.signal.throwIfAborted()
      await tree.ready(controller.signal)
      controller.signal.throwIfAborted()
    },
    elapsedMs: () => world.monotonic() - last.monotonic,
    questionId: () => `q${++questions}`,
    stop: abort,
    async release() {
      let left = 0
      try {
        if (unwritten.length > 0) write()
        for (let pending = writing; pending; pending = writing) await pending
        // refuses later entries: they would enter the state but never reach the disk
        released = new RepriseError('RUN_ENDED', `this process no longer executes run ${run}`, { runId: run })
        abort(released)
        leave()
      } finally {
        left = ownsTree ? await tree.release() : 0
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

/** Formats a time; the last result is cached, since many entries share a millisecond and formatting is expensive. */
function isoTime(ms: number): string {
  if (ms !== lastTime.ms) lastTime = { ms, text: new Date(ms).toISOString() }
  return lastTime.text
}

/** Restores a shallow copy, which is enough: an end and the mark before it only change members of the state itself. */
function restoreState(state: RunState, before: RunState): void {
  for (const name of Object.keys(state)) if (!(name in before)) Reflect.deleteProperty(state, name)
  Object.assign(state, before)
}

function isInboxWaiting(error: unknown): boolean {
  return RepriseError.isInstance(error) && error.code === 'INBOX_WAITING'
}

function runOverError({ run, status }: RunState): RepriseError {
  return new RepriseError('RUN_ENDED', `run ${run} is ${status}: nothing can be appended to it`, { runId: run })
}

/** Wraps a store's error that is not a RepriseError. */
function storeFailed(run: string, cause: unknown): RepriseError {
  return new RepriseError('STORE_FAILED', `the store could not append to run ${run}: ${redact(messageOf(cause))}`, {
    runId: run,
    cause,
  })
}

/** Builds the batch of an append: the lines, and everything that the store updates with them. */
export function toBatch(state: RunState, encoded: readonly EncodedEntry[], taken: readonly string[] = []): Batch {
  const lines = encoded.map(({ entry, bytes, hash }) => ({ seq: entry.seq, bytes, hash }))
  const blobs = encoded.flatMap((item) => item.blobs)
  const entries = encoded.map((item) => item.entry)
  const batch: Batch = {
    ...(parentRunId(state.run) === undefined ? {} : { run: state.run }),
    lines,
    blobs,
    taken,
    // recording messages counts as progress too
    ...(taken.length > 0 || entries.some(isProgress) ? { progress: true } : {}),
  }
  // most entries are steps, which do not change the listing row
  if (!entries.some(changesRow)) return batch
  const due = dueAt(state)
  return {
    ...batch,
    row: listingRow(state),
    ...(due === undefined ? {} : { due }),
    outputs: outputKeys(state, entries),
  }
}
