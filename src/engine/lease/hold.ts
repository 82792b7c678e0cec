// A hold is this process's right to advance one run, and the only way to append to it. An entry gets its number and is
// folded into the state when it is handed in; those that are handed in while an append is in progress go together in
// the next one. A lazy entry waits for the next append, at most a moment, since nobody has to be sure of it yet. When
// an append fails, the hold ends: every signal aborts, nothing more is written, and the error says so.
import { messageOf, RepriseError } from '../../base/errors.ts'
import { encodeEntry, type EncodedEntry } from '../../journal/codec.ts'
import type { NewEntry } from '../../journal/entries.ts'
import { changesRow, isProgress } from '../../journal/table/entry-table.ts'
import { parentRunId } from '../../journal/paths.ts'
import { applyEntry } from '../../journal/state/fold.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import { redact } from '../../secrets/redact.ts'
import { createNotifier, type Notifier } from '../../base/notifier.ts'
import { serially, type SerialQueue } from '../../base/serially.ts'
import type { Patience } from '../../stores/patient/patience.ts'
import type { Batch } from '../../stores/store.ts'
import type { Engine } from '../definition.ts'
import { jumpBetween, currentMoment, type Moment } from '../moment.ts'
import { unlessAborted } from '../limits/deadline.ts'
import { dueAt } from '../read/due.ts'
import type { LoadedRun } from '../read/read-run.ts'
import { outputKeys, listingRow } from '../read/row.ts'
import type { LeasedTree } from './leased-tree.ts'
import { noteSteps } from '../limits/slice.ts'

/** How long a lazy entry may wait for an append that takes it along. */
const lazyMs = 20

export interface Hold {
  readonly engine: Engine
  readonly state: RunState
  /** The run at the top, with all that work for it: they have one lease. */
  readonly tree: LeasedTree
  /** Aborts when the hold ends, for whatever reason; the reason is a RepriseError or `stopped`. */
  readonly signal: AbortSignal
  /** Only one at a time reads the inbox, or two would record the same message. */
  readonly inbox: SerialQueue
  /** Whether there may be something in it. */
  readonly mail: Notifier
  /** Whether there may be something in the inbox of a run that works for this one and isn't in progress. */
  readonly mailBelow: Notifier
  /** A message may have come. */
  hint(): void
  /** Resolves when the entries are on disk. `taken` are the inbox messages that they record. */
  append(entries: readonly NewEntry[], taken?: readonly string[]): Promise<void>
  /**
   * The state says so at once; it is on disk with the next append, or in a moment. Only for what nobody's code depends
   * on yet: a model may be asked before it is there, and what gets lost is made again. Throws when the hold has ended.
   */
  note(entries: readonly NewEntry[]): void
  /**
   * Appends the entry that ends this process's work. False when the run was about to be completed and a message came
   * first: then it is not written.
   */
  end(entry: NewEntry): Promise<boolean>
  /**
   * An entry to put before the next append, whoever makes that; a newer one replaces it. It costs no append of its own.
   */
  mark(entry: NewEntry): void
  /**
   * Await it before user code is called: resolves when everything that the state says now is on disk. Rejects when the
   * lease is lost.
   */
  ready(): Promise<void>
  /** Await it before a model is asked: resolves when the lease lasts. Rejects when it is lost. */
  held(): Promise<void>
  /** The time in ms since the last entry of the state, as far as this process has been there. */
  elapsedMs(): number
  /** The next free question id of the run. */
  questionId(): string
  /** Ends the work in this process without touching the journal. */
  stop(reason: unknown): void
  /**
   * Waits for what is being written. Where the lease is given back with it, how many messages wait for the run and
   * those that work for it; otherwise 0.
   */
  release(): Promise<number>
}

/** While the hold lasts, a store that is away is waited for: for how long, and who is told. */
interface HoldOptions extends Pick<Patience, 'limitMs' | 'onOutage'> {
  /** When its first entries were made, of a run that is new: it has no messages yet. */
  readonly made?: Moment
  /** Releasing the hold releases the tree, too. */
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
  /** Numbered and in the state, not on disk. */
  let unwritten: EncodedAppend[] = []
  /** The entry that ends the work, and what was handed in after it: that waits until it is known whether it counts. */
  let ending: { readonly entry: NewEntry; resolve(isWritten: boolean): void; reject(error: unknown): void } | undefined
  let after: PendingAppend[] = []
  let marked: NewEntry | undefined
  /** Resolves when all that is numbered so far is on disk. */
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

  /** A microtask later, so that what parallel calls hand in at once is one append. */
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
    // at once, or what is handed in before the next turn would wait for nobody
    writing = undefined
  }

  /** The end is decided: what waited for that follows. */
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
      // when it cannot be written the hold ends, which tells everybody
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
        // from here on nothing is put into the state that would not be on disk
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
  /** Ids of the inbox messages that they record. */
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

/** The entries of many runs share a millisecond, and formatting it takes longer than most of the work with it. */
function isoTime(ms: number): string {
  if (ms !== lastTime.ms) lastTime = { ms, text: new Date(ms).toISOString() }
  return lastTime.text
}

/** An end, and a mark before it, only change members of the state itself. */
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

/** Lines, and everything that changes with them. */
export function toBatch(state: RunState, encoded: readonly EncodedEntry[], taken: readonly string[] = []): Batch {
  const lines = encoded.map(({ entry, bytes, hash }) => ({ seq: entry.seq, bytes, hash }))
  const blobs = encoded.flatMap((item) => item.blobs)
  const entries = encoded.map((item) => item.entry)
  const batch: Batch = {
    ...(parentRunId(state.run) === undefined ? {} : { run: state.run }),
    lines,
    blobs,
    taken,
    // what people leave gets a run further too
    ...(taken.length > 0 || entries.some(isProgress) ? { progress: true } : {}),
  }
  // a step, which is most of what is written, does not show in a listing
  if (!entries.some(changesRow)) return batch
  const due = dueAt(state)
  return {
    ...batch,
    row: listingRow(state),
    ...(due === undefined ? {} : { due }),
    outputs: outputKeys(state, entries),
  }
}
