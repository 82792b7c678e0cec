// A run tree that this process holds: the root and its child runs share one lease. Every write and every renewal
// returns the number of messages in their inboxes, so no run has to poll. Below: the reservation of runs within a
// process, and the keeper that renews leases.
import { RepriseError, messageOf } from '../../base/errors.ts'
import { serially, type SerialQueue } from '../../base/notifier.ts'
import type { Lease } from '../../stores/store.ts'
import type { Engine, World } from '../definition.ts'
import { type Slice, newSlice } from '../limits/time.ts'
import type { Owner } from '../../journal/entries.ts'
import { sameOwner } from '../../stores/owner.ts'
import { isOutage, type DirectStore } from '../../stores/patient-store.ts'
import { currentMoment, type Moment } from '../../base/clock.ts'

export interface LeasedTree {
  readonly lease: Lease
  /** How long this process works on its runs. */
  readonly slice: Slice
  /** Resolves when enough of the lease is left to start an effect. Rejects with LEASE_LOST if it is lost. */
  ready(signal: AbortSignal): Promise<void>
  /** Adds a run that is now in progress. Returns a function that removes it. */
  join(member: TreeMember): () => void
  /** Whether the run is in progress here. If so, it reads its own inbox. */
  isExecuting(run: string): boolean
  /** Serialises work on runs of the tree that aren't in progress: two writers to one journal would collide. */
  readonly exclusively: SerialQueue
  /** Call with each message count from the store. */
  noteMessages(messages: number): void
  /** Ends the work on all of its runs. */
  fail(error: RepriseError): void
  /** Releases the lease and the reservation in this process. Resolves with the number of waiting messages. */
  release(): Promise<number>
}

/** A run of the tree that is in progress. */
interface TreeMember {
  readonly run: string
  fail(error: RepriseError): void
  /** Called when its inbox may have messages. */
  mail(): void
}

/** Starts to renew the lease of a tree. `free` ends the reservation of the root in this process. */
export function openLeasedTree(engine: Engine, lease: TimedLease, free: () => void = () => {}): LeasedTree {
  const members = new Set<TreeMember>()
  const fail = (error: RepriseError): void => {
    for (const member of members) member.fail(error)
  }
  const noteMessages = (messages: number): void => {
    if (messages > 0) for (const member of members) member.mail()
  }
  const kept = engine.leases.keep(lease, { lost: fail, renewed: noteMessages })
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
    noteMessages,
    fail,
    async release() {
      kept.stop()
      // no retries: everything is stored, and a lease that isn't released expires. A lost lease is released too: the
      // store may have counted its holder as dead, and corrects that
      const store = engine.store.withPatience({ signal: AbortSignal.abort() })
      return store
        .release(lease)
        .catch(() => 0)
        .finally(free)
    },
  }
}

// Reservations of runs within this process. A store lets an owner take over its own lease, so two calls in one process
// could both advance a run: here the second call is refused.

/**
 * Reserves a run in this process, before its lease is taken. Throws RUN_HELD if this process already executes the run.
 * Returns a function that ends the reservation.
 */
export function reserveRun(engine: Engine, run: string): () => void {
  const { runs } = engine.world.process
  const name = localRunKey(engine, run)
  if (runs.has(name)) {
    const words = `run ${run} is already being executed by this process; await that call, or cancel it first`
    throw new RepriseError('RUN_HELD', words, { runId: run, next: { type: 'show', runId: run } })
  }
  runs.add(name)
  let isReserved = true
  return () => {
    if (isReserved) runs.delete(name)
    isReserved = false
  }
}

/** Returns the process that executes a run now. A lease of this process for a run it isn't executing is a leftover. */
export async function runExecutor(engine: Engine, run: string): Promise<Owner | undefined> {
  const owner = await engine.store.holder(run)
  const ours = owner && sameOwner(owner, engine.world.owner)
  return ours && !engine.world.process.runs.has(localRunKey(engine, run)) ? undefined : owner
}

/** Does short work on a run, one piece at a time; `reserveRunInTurn` waits for it. */
export function runBriefWork(engine: Engine, run: string, work: () => Promise<void>): Promise<void> {
  return engine.world.process.briefWork(localRunKey(engine, run), work)
}

/** Like `reserveRun`, but first waits for short work on the run, such as recording an answer. */
export function reserveRunInTurn(engine: Engine, run: string): Promise<() => void> {
  return engine.world.process.briefWork(localRunKey(engine, run), async () => reserveRun(engine, run))
}

/** Returns a key for a run that is unique across the stores of this process. */
export function localRunKey({ store, world }: Pick<Engine, 'store' | 'world'>, run: string): string {
  return `${world.process.storeKey(store.direct)} ${run}`
}

// The keeper renews all leases of a process in one call, and knows how long each still lasts. Other processes see
// expiry by the store's clock. The holder counts from just before each request, so it never trusts a lease longer
// than the store does. It measures the elapsed time by two clocks, and the larger result counts, since the monotonic
// clock may stop while the machine sleeps. Expiry alone doesn't lose a lease: during an outage nothing new is started,
// and afterwards a lease that no other process took is renewed, even past its expiry.

export interface LeaseKeeper {
  /** Renews the lease until `stop` is called. */
  keep(lease: TimedLease, listener: LeaseListener): KeptLease
}

/**
 * A lease with the moment before it was requested, from which its time is measured. Use the functions below to make
 * one, so that no lease is measured from a later moment.
 */
export interface TimedLease extends Lease {
  readonly since: Moment
}

type Clock = Pick<World, 'now' | 'monotonic'>

export async function requestLease<T extends Lease | undefined>(
  clock: Clock,
  request: () => Promise<T>,
): Promise<TimedLease | Exclude<T, Lease>> {
  const since = currentMoment(clock)
  const lease = await request()
  return lease ? { ...lease, since } : (lease as Exclude<T, Lease>)
}

export async function requestLeases(clock: Clock, request: () => Promise<readonly Lease[]>): Promise<TimedLease[]> {
  const since = currentMoment(clock)
  return (await request()).map((lease) => ({ ...lease, since }))
}

/** Accepts a lease of unknown age, such as one claimed by the user's code: it is renewed before its first use. */
export function asTimedLease(lease: Lease | TimedLease): TimedLease {
  return 'since' in lease ? lease : { ...lease, since: { monotonic: -Infinity, day: -Infinity } }
}

interface LeaseListener {
  /** Called once, when another process took the lease over or it could not be renewed. */
  lost(error: RepriseError): void
  /** Called after each renewal with the number of messages waiting for the run tree. */
  renewed(messages: number): void
}

interface KeptLease {
  /**
   * Resolves when enough of the lease is left to start an effect; waits out an outage of the store. Rejects with
   * LEASE_LOST if the lease is lost.
   */
  ready(signal: AbortSignal): Promise<void>
  stop(): void
}

interface LeaseRecord extends LeaseListener {
  readonly lease: Lease
  /** The moment before the last successful renewal was requested. */
  since: Moment
  lossError?: RepriseError
}

export function leaseKeeper(store: DirectStore, world: World): LeaseKeeper {
  const third = world.leaseMs / 3
  const all = new Set<LeaseRecord>()
  let timer: Disposable | undefined
  let renewing: { readonly since: number; readonly done: Promise<void> } | undefined
  let nextRenewal = Promise.withResolvers<void>()

  const remainingMs = ({ since }: LeaseRecord): number => {
    const now = currentMoment(world)
    return world.leaseMs - Math.max(now.monotonic - since.monotonic, now.day - since.day)
  }

  const stop = (kept: LeaseRecord): void => {
    all.delete(kept)
    if (all.size > 0) return
    timer?.[Symbol.dispose]()
    timer = undefined
  }

  const lose = (kept: LeaseRecord, why: string): void => {
    if (kept.lossError) return
    kept.lossError = leaseLost(kept.lease, why)
    stop(kept)
    kept.lost(kept.lossError)
  }

  const renewAll = async (): Promise<void> => {
    const before = currentMoment(world)
    const requested = [...all]
    const renewals = await store.renew(
      requested.map(({ lease }) => lease),
      world.leaseMs,
    )
    const renewalById = new Map(renewals.map((renewal) => [renewal.lease.id, renewal]))
    // a lease released meanwhile isn't lost
    for (const kept of requested.filter((one) => all.has(one))) {
      const waiting = renewalById.get(kept.lease.id)?.waiting
      if (waiting === undefined) lose(kept, 'another process took it over')
      else {
        // a later renewal may have been answered first
        if (before.monotonic >= kept.since.monotonic) kept.since = before
        kept.renewed(waiting)
      }
    }
    nextRenewal.resolve()
    nextRenewal = Promise.withResolvers()
  }

  /**
   * Renews all leases. Callers share a renewal in progress, unless it has taken too long: on a hanging connection it
   * may outlast the lease, while a new call gets through.
   */
  const renew = (): Promise<void> => {
    const now = world.monotonic()
    if (renewing && now - renewing.since < third / 2) return renewing.done
    const renewal = { since: now, done: renewAll().finally(() => renewing === renewal && (renewing = undefined)) }
    renewing = renewal
    return renewal.done
  }

  const scheduleRenewal = (): void => {
    timer = world.timer(third, () => {
      scheduleRenewal()
      // a failed renewal is retried by the next timer, and before anything new is started
      void renew().catch(() => undefined)
    })
  }

  const ready = async (kept: LeaseRecord, signal: AbortSignal): Promise<void> => {
    for (let tries = 0; !kept.lossError && remainingMs(kept) < third; tries++) {
      try {
        await Promise.race([renew(), nextRenewal.promise])
      } catch (error) {
        if (!isOutage(error) && remainingMs(kept) < 0) lose(kept, `it could not be renewed: ${messageOf(error)}`)
      }
      if (!kept.lossError && remainingMs(kept) < third) await world.sleep(Math.min(2_000, 50 * 2 ** tries), signal)
    }
    if (kept.lossError) throw kept.lossError
  }

  return {
    keep(lease, { lost, renewed }) {
      const kept: LeaseRecord = { lease, since: lease.since, lost, renewed }
      all.add(kept)
      if (!timer) scheduleRenewal()
      return { ready: (signal) => ready(kept, signal), stop: () => stop(kept) }
    },
  }
}

function leaseLost(lease: Lease, why: string): RepriseError {
  return new RepriseError(
    'LEASE_LOST',
    `this process no longer holds the lease of run ${lease.run}: ${why}; it has stopped writing to the run`,
    { runId: lease.run },
  )
}
