// A root and the runs that work for it, in the hands of this process: one lease for all of them. What waits in any of
// their inboxes is known from what the store answers to every write and every renewal, so that none of them has to ask.
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
  /** Joins in; the result leaves again. */
  join(member: TreeMember): () => void
  /** Whether the run is in progress here: then it reads its own inbox. */
  isExecuting(run: string): boolean
  /** Only one at a time takes up its runs or records in those that aren't in progress, or two would write to one. */
  readonly exclusively: SerialQueue
  /** To be told how many messages wait, when the store says so. */
  noteMessages(messages: number): void
  /** Ends the work on all of its runs. */
  fail(error: RepriseError): void
  /** Gives the lease and the reservation in this process back, and says how many messages wait. */
  release(): Promise<number>
}

/** One of its runs. */
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
      // what there is of the run is on disk; a lease that cannot be released soon expires. One that is lost is released
      // too, which says that this process did not die
      const store = engine.store.withPatience({ signal: AbortSignal.abort() })
      return store
        .release(lease)
        .catch(() => 0)
        .finally(free)
    },
  }
}
