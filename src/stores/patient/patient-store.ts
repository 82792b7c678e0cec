// A store that waits for a store that is away. Whoever uses it sees an outage only as a call that takes longer: calls
// that could not be made are made again, and those of which nobody knows whether they were made are settled by what the
// store has. What is refused is refused at once: LEASE_LOST, RUN_HELD and the others are answers.
import { defined } from '../../base/defined.ts'
import type { Store } from '../store.ts'
import { openPatience, type Patience } from './patience.ts'
import { retryAppend, retryCreate, retryPost } from './retry-writes.ts'

/** For how long a call waits that is not part of a life: somebody sits in front of it. */
export const shortWaitMs = 10_000

const patients = new WeakMap<Store, { readonly store: Store; awayMs(): number }>()

/**
 * STORE_UNAVAILABLE from any call when the store is still away after `limitMs`, or soon after `signal` has aborted.
 * JOURNAL_DAMAGED from `append` when entries that were acknowledged are gone. One that is patient already is not
 * wrapped twice: the new patience counts.
 */
export function patientStore(given: Store, options: Patience = {}): Store {
  const store = impatientStore(given)
  const { retry: again, retryStream: keepAt, outageMs: away } = openPatience(store, options)

  const patient: Store = {
    url: store.url,
    ...defined({ caution: store.caution }),
    create: (...args) => again((doubt) => retryCreate(store, args, doubt)),
    append: (...args) => again((doubt) => retryAppend(store, args, doubt)),
    async *read(run, after) {
      let last = after
      // a read that breaks off continues after the last line that was given
      for await (const line of keepAt(() => store.read(run, last))) {
        last = line.seq
        yield line
      }
    },
    lastNoted: (...args) => again(() => store.lastNoted(...args)),
    blob: (...args) => again(() => store.blob(...args)),
    row: (...args) => again(() => store.row(...args)),
    list: (...args) => again(() => store.list(...args)),
    findOutput: (...args) => again(() => store.findOutput(...args)),
    // whoever has taken a lease without hearing of it takes it over from itself
    acquire: (...args) => again(() => store.acquire(...args)),
    // runs of a claim whose reply was lost are offered again when their leases expire
    claim: (...args) => again(() => store.claim(...args)),
    ready: (...args) => again(() => store.ready(...args)),
    renew: (...args) => again(() => store.renew(...args)),
    release: (...args) => again(() => store.release(...args)),
    holder: (...args) => again(() => store.holder(...args)),
    now: () => again(() => store.now()),
    tries: (...args) => again(() => store.tries(...args)),
    post: (...args) => again((doubt) => retryPost(store, args, doubt)),
    inbox: (...args) => again(() => store.inbox(...args)),
    watch(run, signal, only) {
      // made now: what changes before somebody reads the hints must not be missed
      const first = store.watch(run, signal, only)
      let lost = false
      return keepAt(() => {
        const hints = lost ? withHint(store.watch(run, signal, only)) : first
        lost = true
        return hints
      }, signal)
    },
    delete: (...args) => again(() => store.delete(...args)),
    close: () => store.close(),
  }
  patients.set(patient, { store, awayMs: away })
  return patient
}

/** The store that a patient one waits for; any other is given back as it is. */
export function impatientStore(store: Store): Store {
  return patients.get(store)?.store ?? store
}

/** For how long a patient store has waited so far, all outages together. */
export function outageMs(store: Store): number {
  return patients.get(store)?.awayMs() ?? 0
}

/** Something may have changed while nobody could watch. */
async function* withHint(hints: AsyncIterable<void>): AsyncGenerator<void> {
  yield
  yield* hints
}
