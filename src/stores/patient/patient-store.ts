// Wraps a store so that its calls wait out an outage: to the caller they only take longer. Calls that failed are
// repeated. For writes in doubt, the content of the store decides. Refusals such as LEASE_LOST and RUN_HELD are
// replies, and reject at once.
import { defined } from '../../base/defined.ts'
import type { Store } from '../store.ts'
import { openPatience, type Patience } from './patience.ts'
import { retryAppend, retryCreate, retryPost } from './retry-writes.ts'

/** How long a call waits outside of an execution, since a person may be waiting for it. */
export const shortWaitMs = 10_000

/** A store as its driver opened it: calls fail during an outage. */
export type DirectStore = Store & { readonly direct?: never }

/** A store whose calls wait out an outage. */
export interface PatientStore extends Store {
  /** The same store, for callers that handle outages themselves. */
  readonly direct: DirectStore
  /** The same store with other patience. */
  withPatience(options: Omit<Patience, 'clock'>): PatientStore
  /** Total duration of the outages that were waited out so far. */
  outageMs(): number
}

/**
 * Every call rejects with STORE_UNAVAILABLE if the store is still unreachable after `limitMs`, or soon after `signal`
 * aborts, and `append` with JOURNAL_DAMAGED if acknowledged entries are lost.
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
    async *read(run, after) {
      let last = after
      // continues after the last line it yielded
      for await (const line of retryStream(() => store.read(run, last))) {
        last = line.seq
        yield line
      }
    },
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
      let lost = false
      return retryStream(() => {
        const hints = lost ? withHint(store.watch(run, signal, only)) : first
        lost = true
        return hints
      }, signal)
    },
    delete: (...args) => retry(() => store.delete(...args)),
    close: () => store.close(),
  }
}

/** Begins with a hint, since changes during the outage went unnoticed. */
async function* withHint(hints: AsyncIterable<void>): AsyncGenerator<void> {
  yield
  yield* hints
}
