// A run tree that this process holds: the root and its child runs share one lease. The store returns the number of
// messages in their inboxes with every write and every renewal, so no run has to poll.
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
interface TreeMember {
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

// What this process is working on, by store and run. A store lets an owner take over its own lease, so two calls in one
// process would both advance a run: here the second one is refused.

/**
 * Reserves a run in this process, before its lease is taken. RUN_HELD if the process executes the run already. Calling
 * the result ends the reservation; further calls do nothing.
 */
export function reserveRun(engine: Engine, run: string): () => void {
  const { runs } = engine.world.process
  const name = localRunKey(engine, run)
  if (runs.has(name)) {
    const words = `run ${run} is already being executed by this process; await that call, or cancel it first`
    throw new RepriseError('RUN_HELD', words, { runId: run, next: { type: 'show', runId: run } })
  }
  runs.add(name)
  let mine = true
  return () => {
    if (mine) runs.delete(name)
    mine = false
  }
}

/** Who executes a run now. A lease that this process holds for a run that it isn't executing is a leftover. */
export async function runExecutor(engine: Engine, run: string): Promise<Owner | undefined> {
  const owner = await engine.store.holder(run)
  const ours = owner && sameOwner(owner, engine.world.owner)
  return ours && !engine.world.process.runs.has(localRunKey(engine, run)) ? undefined : owner
}

/** Does short work on a run: one piece at a time, and `reserveRunInTurn` waits for it. */
export function runBriefWork(engine: Engine, run: string, work: () => Promise<void>): Promise<void> {
  return engine.world.process.briefWork(localRunKey(engine, run), work)
}

/** Like `reserveRun`, but waits for short work, such as an answer that is being recorded, instead of being refused. */
export function reserveRunInTurn(engine: Engine, run: string): Promise<() => void> {
  return engine.world.process.briefWork(localRunKey(engine, run), async () => reserveRun(engine, run))
}

/** A name for a run that no run of another store has. */
export function localRunKey({ store, world }: Pick<Engine, 'store' | 'world'>, run: string): string {
  return `${world.process.storeKey(store.direct)} ${run}`
}

// Renews all leases of a process in one call, and knows how long each still lasts. Other processes see expiry by the
// store's clock. The holder measures from before each request, so it never trusts a lease longer than the store does.
// It takes the larger of monotonic time and time of day, since a monotonic clock may stop while the machine sleeps.
// Time alone loses no lease: during an outage nothing new is started, and afterwards a lease that no other process took
// is renewed, even past its expiry.

export interface LeaseKeeper {
  keep(lease: TimedLease, hear: LeaseListener): KeptLease
}

/**
 * A lease, and the moment before it was requested, from which it lasts. Only `requestLease` makes one, so that no lease
 * is measured from a later moment.
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

/** A lease without a moment, as from a user's own claim, may be of any age: it is renewed before its first use. */
export function asTimedLease(lease: Lease | TimedLease): TimedLease {
  return 'since' in lease ? lease : { ...lease, since: { monotonic: -Infinity, day: -Infinity } }
}

interface LeaseListener {
  /** Called once, when another process has the lease or it could not be renewed. */
  lost(error: RepriseError): void
  /** Called after each renewal with the number of messages for the run tree. */
  waiting(messages: number): void
}

interface KeptLease {
  /**
   * Resolves when enough of the lease is left to start an effect. Waits out an outage of the store. LEASE_LOST if
   * another process has it.
   */
  ready(signal: AbortSignal): Promise<void>
  stop(): void
}

interface LeaseRecord extends LeaseListener {
  readonly lease: Lease
  asked: Moment
  gone?: RepriseError
}

export function leaseKeeper(store: DirectStore, world: World): LeaseKeeper {
  const third = world.leaseMs / 3
  const all = new Set<LeaseRecord>()
  let timer: Disposable | undefined
  let renewing: { readonly since: number; readonly answer: Promise<void> } | undefined
  let renewed = Promise.withResolvers<void>()

  const left = ({ asked }: LeaseRecord): number => {
    const now = currentMoment(world)
    return world.leaseMs - Math.max(now.monotonic - asked.monotonic, now.day - asked.day)
  }

  const stop = (kept: LeaseRecord): void => {
    all.delete(kept)
    if (all.size > 0) return
    timer?.[Symbol.dispose]()
    timer = undefined
  }

  const lose = (kept: LeaseRecord, why: string): void => {
    if (kept.gone) return
    kept.gone = leaseLost(kept.lease, why)
    stop(kept)
    kept.lost(kept.gone)
  }

  const renewAll = async (): Promise<void> => {
    const before = currentMoment(world)
    const asked = [...all]
    const answer = await store.renew(
      asked.map(({ lease }) => lease),
      world.leaseMs,
    )
    const answers = new Map(answer.map((one) => [one.lease.id, one]))
    // a lease released meanwhile isn't lost
    for (const kept of asked.filter((one) => all.has(one))) {
      const waiting = answers.get(kept.lease.id)?.waiting
      if (waiting === undefined) lose(kept, 'another process took it over')
      else {
        // a later renewal may have been answered first
        if (before.monotonic >= kept.asked.monotonic) kept.asked = before
        kept.waiting(waiting)
      }
    }
    renewed.resolve()
    renewed = Promise.withResolvers()
  }

  /**
   * Callers share a renewal in progress, unless it has taken too long: on a hanging connection it may outlast the
   * lease, while a new call gets through.
   */
  const renew = (): Promise<void> => {
    const now = world.monotonic()
    if (renewing && now - renewing.since < third / 2) return renewing.answer
    const mine = { since: now, answer: renewAll().finally(() => renewing === mine && (renewing = undefined)) }
    renewing = mine
    return mine.answer
  }

  const renewInTime = (): void => {
    timer = world.timer(third, () => {
      renewInTime()
      // a failed renewal is retried by the next timer, and before anything new is started
      void renew().catch(() => undefined)
    })
  }

  const ready = async (kept: LeaseRecord, signal: AbortSignal): Promise<void> => {
    for (let tries = 0; !kept.gone && left(kept) < third; tries++) {
      try {
        await Promise.race([renew(), renewed.promise])
      } catch (error) {
        if (!isOutage(error) && left(kept) < 0) lose(kept, `it could not be renewed: ${messageOf(error)}`)
      }
      if (!kept.gone && left(kept) < third) await world.sleep(Math.min(2_000, 50 * 2 ** tries), signal)
    }
    if (kept.gone) throw kept.gone
  }

  return {
    keep(lease, hear) {
      const kept: LeaseRecord = { lease, asked: lease.since, lost: hear.lost, waiting: hear.waiting }
      all.add(kept)
      if (!timer) renewInTime()
      return { ready: (signal) => ready(kept, signal), stop: () => stop(kept) }
    },
  }
}

function leaseLost(lease: Lease, why: string): RepriseError {
  return new RepriseError(
    'LEASE_LOST',
    `this process no longer holds run ${lease.run}: ${why}; nothing more was written, and the run continues where it is held`,
    { runId: lease.run },
  )
}
