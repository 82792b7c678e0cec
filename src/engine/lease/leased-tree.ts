// A run tree that this process holds: the root and its child runs share one lease. The store returns the number of
// messages in their inboxes with every write and every renewal, so no run has to poll.
import type { RepriseError } from '../../base/errors.ts'
import { serially, type SerialQueue } from '../../base/serially.ts'
import type { Lease } from '../../stores/store.ts'
import type { Engine } from '../definition.ts'
import type { TimedLease } from './lease-keeper.ts'
import { type Slice, newSlice } from '../limits/slice.ts'

export interface LeasedTree {
  readonly lease: Lease
  /** The time for the work on its runs. */
  readonly slice: Slice
  /** Resolves when enough of the lease is left to start an effect; LEASE_LOST. */
  ready(signal: AbortSignal): Promise<void>
  /** Adds a run in progress. Returns a function that removes it. */
  join(member: TreeMember): () => void
  /** Whether the run is in progress here, in which case it reads its own inbox. */
  isExecuting(run: string): boolean
  /** Serialises work on runs of the tree that aren't in progress: two writers to one journal would collide. */
  readonly exclusively: SerialQueue
  /** Call with each message count from the store. */
  noteMessages(messages: number): void
  /** Ends the work on all of its runs. */
  fail(error: RepriseError): void
  /** Releases the lease and the reservation in this process. Returns how many messages wait. */
  release(): Promise<number>
}

/** A run of the tree that is in progress. */
export interface TreeMember {
  readonly run: string
  fail(error: RepriseError): void
  /** Messages may be in its inbox. */
  mail(): void
}

/** `free` ends the reservation of the root in this process. */
export function openLeasedTree(engine: Engine, lease: TimedLease, free: () => void = () => {}): LeasedTree {
  const members = new Set<TreeMember>()
  const fail = (error: RepriseError): void => {
    for (const member of members) member.fail(error)
  }
  const waiting = (messages: number): void => {
    if (messages > 0) for (const member of members) member.mail()
  }
  const kept = engine.leases.keep(lease, { lost: fail, waiting })
  return {
    lease,
    slice: newSlice(),
    ready: (signal) => kept.ready(signal),
    join(member) {
      members.add(member)
      return () => void members.delete(member)
    },
    isExecuting: (run) => [...members].some((member) => member.run === run),
    exclusively: serially(),
    noteMessages: waiting,
    fail,
    async release() {
      kept.stop()
      // the run is on disk, so no retries: a lease that cannot be released soon expires. A lost lease is released too,
      // which shows that this process did not die
      const store = engine.store.withPatience({ signal: AbortSignal.abort() })
      return store
        .release(lease)
        .catch(() => 0)
        .finally(free)
    },
  }
}
