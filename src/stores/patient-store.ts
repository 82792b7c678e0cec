// Wraps a store so that its calls wait out an outage: to the caller they only take longer. Failed calls are retried. If
// the reply to a write was lost, the content of the store shows whether the write arrived. Refusals such as LEASE_LOST
// and RUN_HELD aren't outages, and reject at once.
import { defined } from '../base/options.ts'
import type { Store, Batch, Line, RunId } from './store.ts'
import { RepriseError, messageOf } from '../base/errors.ts'
import type { Clock } from '../base/clock.ts'
import { redact } from '../secrets/redact.ts'

/** How long calls outside of an execution wait for a store that is away. A person may be waiting for the result. */
export const shortWaitMs = 10_000

/** A store as its driver opened it: calls fail during an outage. */
export type DirectStore = Store & { readonly direct?: never }

/** A store whose calls wait out an outage. */
export interface PatientStore extends Store {
  /** The same store, for callers that handle outages themselves. */
  readonly direct: DirectStore
  /** Returns the same store with other options. */
  withPatience(options: Omit<Patience, 'clock'>): PatientStore
  /** Total duration of all outages so far. */
  outageMs(): number
}

/**
 * Wraps a store. A call rejects with STORE_UNAVAILABLE if the store is still unreachable after `limitMs`, or two
 * seconds after `signal` aborts. `append` also rejects with JOURNAL_DAMAGED if acknowledged entries are lost.
 */
export function patientStore(store: DirectStore, options: Patience): PatientStore {
  const { retry, retryStream, outageMs } = openPatience(store, options)

  return {
    url: store.url,
    direct: store,
    withPatience: (other) => patientStore(store, { clock: options.clock, ...other }),
    outageMs,
    ...defined({ caution: store.caution }),
    create: (...args) => retry((doubt) => retryCreate(store, args, doubt)),
    append: (...args) => retry((doubt) => retryAppend(store, args, doubt)),
    read: (run, after) => retryStream((last?: Line) => store.read(run, last?.seq ?? after)),
    lastNoted: (...args) => retry(() => store.lastNoted(...args)),
    blob: (...args) => retry(() => store.blob(...args)),
    row: (...args) => retry(() => store.row(...args)),
    list: (...args) => retry(() => store.list(...args)),
    findOutput: (...args) => retry(() => store.findOutput(...args)),
    // if the reply of an earlier try was lost, the owner takes the lease over from itself
    acquire: (...args) => retry(() => store.acquire(...args)),
    // after a lost reply, the claimed runs are offered again when their leases expire
    claim: (...args) => retry(() => store.claim(...args)),
    ready: (...args) => retry(() => store.ready(...args)),
    renew: (...args) => retry(() => store.renew(...args)),
    release: (...args) => retry(() => store.release(...args)),
    holder: (...args) => retry(() => store.holder(...args)),
    now: () => retry(() => store.now()),
    tries: (...args) => retry(() => store.tries(...args)),
    post: (...args) => retry((doubt) => retryPost(store, args, doubt)),
    inbox: (...args) => retry(() => store.inbox(...args)),
    watch(run, signal, only) {
      // created now, so that changes before the first read aren't missed
      const first = store.watch(run, signal, only)
      let isRetry = false
      return retryStream(() => {
        const hints = isRetry ? withHint(store.watch(run, signal, only)) : first
        isRetry = true
        return hints
      }, signal)
    },
    delete: (...args) => retry(() => store.delete(...args)),
    close: () => store.close(),
  }
}

/** Yields a hint first, since changes during the outage went unnoticed. */
async function* withHint(hints: AsyncIterable<void>): AsyncGenerator<void> {
  yield
  yield* hints
}

// Retries of writes, which must not happen twice. If an earlier try may have arrived (`doubt`), the content of the
// store decides: lines are compared by their exact bytes, messages by their body.

type Arguments<Name extends 'create' | 'append' | 'post'> = Parameters<Store[Name]>

/** A run whose first line is ours was created by our call, whatever the reply. */
async function retryCreate(
  store: Store,
  [row, batch, lease]: Arguments<'create'>,
  doubt: boolean,
): ReturnType<Store['create']> {
  const result = await store.create(row, batch, lease)
  if (result.created || !doubt || (await firstAfter(store, row.run, 0, batch)) !== 'ours') return result
  if (!lease) return { created: true }
  // the lease was in the lost reply: the owner takes it over from itself
  const { owner } = lease
  return { created: true, lease: 'ttlMs' in lease ? await store.acquire(row.run, owner, lease.ttlMs) : lease }
}

async function retryAppend(
  store: Store,
  [lease, after, batch]: Arguments<'append'>,
  doubt: boolean,
): ReturnType<Store['append']> {
  const run = batch.run ?? lease.run
  // the number of waiting messages is unknown: 1 makes the caller read the inbox
  if (doubt && (await isWritten(store, run, after, batch))) return 1
  try {
    return await store.append(lease, after, batch)
  } catch (error) {
    const code = RepriseError.isInstance(error) ? error.code : undefined
    // an earlier try that arrived late conflicts with its own retry
    if (doubt && code !== undefined && repeatCodes.has(code) && (await isWritten(store, run, after, batch))) return 1
    if (code === 'SEQ_CONFLICT' || code === 'LEASE_LOST') await checkNothingLost(store, run, after)
    throw error
  }
}

/** A message that exists but isn't in the inbox is recorded in the journal, so it came in time. */
async function retryPost(store: Store, [run, message]: Arguments<'post'>, doubt: boolean): ReturnType<Store['post']> {
  const posted = await store.post(run, message)
  if (posted !== 'exists' || !doubt) return posted
  const stored = (await store.inbox(run)).find(({ id }) => id === message.id)
  return stored === undefined || stored.body === message.body ? 'posted' : 'exists'
}

/** The codes with which a store may refuse a batch that it already has. */
const repeatCodes: ReadonlySet<string> = new Set(['SEQ_CONFLICT', 'LEASE_LOST', 'RUN_ENDED'])

/** Whether the journal has the batch. Rejects with LEASE_LOST if another process has written the next entry. */
async function isWritten(store: Store, run: RunId, after: number, batch: Batch): Promise<boolean> {
  const next = await firstAfter(store, run, after, batch)
  if (next !== 'other') return next === 'ours'
  const words = `run ${run} was continued by another process, so this process wrote nothing more`
  throw new RepriseError('LEASE_LOST', words, { runId: run })
}

/** Who wrote the first line after `after`, judged by its bytes. */
async function firstAfter(store: Store, run: RunId, after: number, batch: Batch): Promise<'ours' | 'other' | 'none'> {
  for await (const { bytes } of store.read(run, after))
    return Buffer.compare(bytes, batch.lines[0]?.bytes ?? new Uint8Array()) === 0 ? 'ours' : 'other'
  return 'none'
}

/** Rejects with JOURNAL_DAMAGED if acknowledged entries are lost, as after a failover to an older copy. */
async function checkNothingLost(store: Store, run: RunId, after: number): Promise<void> {
  const noted = await store.lastNoted(run)
  let last = noted?.seq ?? 0
  for await (const { seq } of store.read(run, last)) last = seq
  // a missing run was deleted
  if (last === 0 || last >= after) return
  const lost =
    last + 1 === after ? `entry ${after} of run ${run} was` : `entries ${last + 1} to ${after} of run ${run} were`
  const advice = 'the store was reset to an older copy; restore it, or resume the run from what it has now'
  throw new RepriseError('JOURNAL_DAMAGED', `${lost} acknowledged by the store and then lost: ${advice}`, {
    runId: run,
  })
}

// Retries during an outage, at growing intervals with jitter, so that clients don't all reach a recovering server at
// once.

export interface Patience {
  /** How long one call waits. Default: forever. */
  readonly limitMs?: number | undefined
  /** Aborts when the results are no longer needed: calls then wait for two more seconds at most. */
  readonly signal?: AbortSignal | undefined
  /** Called once when an outage begins, and once when it ends. */
  readonly onOutage?: ((message: string) => void) | undefined
  readonly clock: Clock
}

interface OpenPatience {
  /** Repeats a call until the store replies. `doubt`: an earlier try may have arrived. */
  retry<T>(call: (doubt: boolean) => Promise<T>): Promise<T>
  /**
   * Restarts a stream that breaks off, after the last item that it yielded. `until` is for streams of hints: waiting
   * ends when it aborts, and items don't count as replies, since a store may yield hints during an outage.
   */
  retryStream<T>(begin: (last?: T) => AsyncIterable<T>, until?: AbortSignal): AsyncGenerator<T>
  /** Total duration of all outages so far. */
  outageMs(): number
}

/** How long calls may take after the abort: enough for a retry, and not too long for a person who pressed Ctrl-C. */
const lastMomentMs = 2_000
const longestWaitMs = 2_000

function openPatience(store: Store, { limitMs = Infinity, signal, onOutage, clock }: Patience): OpenPatience {
  /** Start of the current outage. */
  let outageStart: number | undefined
  let lastReply = clock.monotonic()
  let abortedAt: number | undefined
  let pastOutagesMs = 0
  /** Errors of calls that were given up, and must not be retried. */
  const finalErrors = new WeakSet<RepriseError>()

  function onReply(): void {
    lastReply = clock.monotonic()
    if (outageStart === undefined) return
    const lasted = lastReply - outageStart
    pastOutagesMs += lasted
    outageStart = undefined
    onOutage?.(`the store ${store.url} is back after ${Math.round(lasted / 1000)} s`)
  }

  /** Waits before the next try. Rejects when the time is up. */
  async function waitAfter(error: RepriseError, since: number, tries: number, until?: AbortSignal): Promise<void> {
    if (outageStart === undefined) {
      // the outage began before this error: the driver may have waited, too, before it gave up
      outageStart = Math.max(since, lastReply)
      onOutage?.(`the store ${store.url} does not answer (${outageReason(error)}): waiting for it`)
    }
    if (signal?.aborted) abortedAt ??= clock.monotonic()
    const end = abortedAt === undefined ? since + limitMs : Math.max(abortedAt, outageStart) + lastMomentMs
    const left = end - clock.monotonic()
    if (left <= 0) throw gaveUpError(store, outageReason(error), clock.monotonic() - since, error)
    const signals = [signal, until].filter((each) => each !== undefined && !each.aborted) as AbortSignal[]
    await pause(clock, Math.min(backoff(tries, clock), left), signals)
  }

  /**
   * Limits how long a call may take after the signal aborts: a driver may need half a minute to give up, and a server
   * may hang forever.
   */
  function inTime<T>(call: Promise<T>, since: number): Promise<T> {
    if (!signal) return call
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    let timer: Disposable | undefined
    const giveUp = (): void => {
      const error = gaveUpError(store, 'a call has no answer yet', clock.monotonic() - since)
      finalErrors.add(error)
      reject(error)
    }
    const onAbort = (): void => void (timer = clock.timer(lastMomentMs, giveUp))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    const cleanUp = (): void => {
      timer?.[Symbol.dispose]()
      signal.removeEventListener('abort', onAbort)
    }
    call.then(resolve, reject).finally(cleanUp)
    return promise
  }

  return {
    async retry(call) {
      const since = clock.monotonic()
      for (let tries = 0; ; tries++) {
        try {
          const reply = await inTime(call(tries > 0), since)
          onReply()
          return reply
        } catch (error) {
          if (!isOutage(error)) onReply()
          if (!isOutage(error) || finalErrors.has(error)) throw error
          await waitAfter(error, since, tries)
        }
      }
    },

    outageMs: () => pastOutagesMs + (outageStart === undefined ? 0 : clock.monotonic() - outageStart),

    async *retryStream<T>(begin: (last?: T) => AsyncIterable<T>, until?: AbortSignal) {
      let since = clock.monotonic()
      let last: T | undefined
      for (let tries = 0; ; tries++) {
        const items = begin(last)[Symbol.asyncIterator]()
        let isReading = false
        try {
          for (;;) {
            isReading = true
            const next = await inTime(items.next(), since)
            isReading = false
            if (!until) onReply()
            if (next.done) return
            last = next.value
            yield last
            since = clock.monotonic()
            tries = 0
          }
        } catch (error) {
          if (!isOutage(error) || finalErrors.has(error)) throw error
          await waitAfter(error, since, tries, until)
          if (until?.aborted) return
        } finally {
          // return() would hang, too, while next() hangs
          if (!isReading) await items.return?.()
        }
      }
    },
  }
}

/** Whether a call may succeed once the store is back. */
export function isOutage(error: unknown): error is RepriseError {
  return RepriseError.isInstance(error) && (error.code === 'STORE_UNAVAILABLE' || error.code === 'OUTCOME_UNKNOWN')
}

/** Waits for `ms`, or until one of the signals aborts. */
function pause(clock: Clock, ms: number, signals: readonly AbortSignal[]): Promise<void> {
  return clock.sleep(ms, AbortSignal.any([...signals])).catch(() => undefined)
}

function backoff(tries: number, { random }: Clock): number {
  return Math.min(longestWaitMs, 20 * 2 ** tries) * (0.5 + random() / 2)
}

/** The message of the system or server, if known: the driver's message would name the store a second time. */
function outageReason(error: RepriseError): string {
  return error.cause === undefined ? error.facts : redact(messageOf(error.cause))
}

function gaveUpError({ url }: Store, why: string, ms: number, cause?: RepriseError): RepriseError {
  const words = `the store ${url} could not be reached for ${Math.ceil(ms / 1000)} s (${why}): try again when it is back`
  return new RepriseError('STORE_UNAVAILABLE', words, { cause })
}

// Errors of the drivers for servers.

/** How far a command got before it failed, and whether it writes. `never open`: there was no connection yet. */
export type CallStage = 'never open' | 'not sent' | 'read' | 'write'

export function outageError(url: string, why: string, stage: CallStage, cause: unknown): RepriseError {
  return stage === 'write'
    ? new RepriseError(
        'OUTCOME_UNKNOWN',
        `${url} became unreachable before it replied (${why}): read the run to see whether the change was written`,
        { cause },
      )
    : new RepriseError(
        'STORE_UNAVAILABLE',
        `${url} cannot be reached (${why}): check that the server runs and accepts connections from this machine`,
        { cause },
      )
}
