// The lease of a run tree: one holder writes at a time, and its token and id fence out all earlier ones.
//
//              create, acquire, claim                        renew
//     free ─────────────────────────────▶ held ◀───────────────────────────┐
//      ▲                                  │  │                             │
//      └──────────── release ─────────────┘  │ ttl passes, or process dies │
//                                            ▼                             │
//                                         expired ─────────────────────────┘
//                                            │        renew: no process took it
//                                            │
//                                            │ acquire, claim: another process takes it
//                                            ▼
//                                         held, by a higher token
//
// Until another process takes it, an expired lease still appends: fencing protects the journal, not time. From then on
// the old holder gets LEASE_LOST. If the old holder made no progress, the takeover counts as its death (ready.ts).
import { RepriseError } from '../../base/errors.ts'
import { rootRunId } from '../../journal/paths.ts'
import { describeOwner, isOwnerDead, readOwner, sameOwner } from '../owner.ts'
import type { Lease, Owner, RunId, ClaimLimits, Lane, Priority, ReadyRun } from '../store.ts'

/** The `lease` argument of `create` that requests a new lease, instead of naming the lease of the root. */
export interface LeaseRequest {
  readonly owner: Owner
  readonly ttlMs: number
}

export interface CreateResult {
  readonly created: boolean
  readonly lease?: Lease
}

export function isLease(lease: LeaseRequest | Lease | undefined): lease is Lease {
  return lease !== undefined && 'token' in lease
}

/** A stored lease, without its token. */
export interface Holding {
  readonly owner: Owner
  /** The id of the acquisition. */
  readonly id: string
  /** Milliseconds since 1970, by the store's clock. */
  readonly expiresAt: number
}

/** Reads the lease from the columns of a root. */
export function toHolding(
  root:
    | { readonly owner: string | null; readonly lease: string | null; readonly expires_at: number | null }
    | undefined,
): Holding | undefined {
  const owner = readOwner(root?.owner ?? null)
  return owner && { owner, id: root?.lease ?? '', expiresAt: root?.expires_at ?? 0 }
}

/** Whether a lease still excludes other owners. */
export function isLive(
  holding: Holding | undefined,
  now: number,
  isGone: (owner: Owner) => boolean = isOwnerDead,
): boolean {
  return holding !== undefined && holding.expiresAt > now && !isGone(holding.owner)
}

/** Throws RUN_HELD unless `owner` may take the lease now. */
export function checkFree(
  run: RunId,
  holding: Holding | undefined,
  now: number,
  owner?: Owner,
  isGone: (owner: Owner) => boolean = isOwnerDead,
): void {
  if (holding === undefined || !isLive(holding, now, isGone)) return
  if (owner !== undefined && sameOwner(owner, holding.owner)) return
  const until = new Date(holding.expiresAt).toISOString()
  throw new RepriseError(
    'RUN_HELD',
    `run ${run} is held by ${describeOwner(holding.owner)} until ${until} unless renewed: wait until that process is done, or stop it`,
    { runId: run, next: { type: 'show', runId: run }, until: holding.expiresAt },
  )
}

/** Throws LEASE_LOST unless the lease is the newest and unreleased. `token` is undefined if the run was deleted. */
export function checkToken(lease: Lease, token: number | undefined, holding: Holding | undefined): void {
  if (token === lease.token && holding?.id === lease.id) return
  const reason =
    token === undefined
      ? 'the run is no longer in the store'
      : holding === undefined
        ? 'it was released'
        : `${describeOwner(holding.owner)} holds token ${token}`
  throw new RepriseError(
    'LEASE_LOST',
    `the lease of run ${lease.run} with token ${lease.token} is no longer valid: ${reason}; acquire the run again before writing to it`,
    { runId: lease.run },
  )
}

/** Throws LEASE_LOST unless the run belongs to the leased tree. */
export function checkTree(lease: Lease, run: RunId): void {
  if (rootRunId(run) === lease.run) return
  throw new RepriseError(
    'LEASE_LOST',
    `the lease of run ${lease.run} does not cover run ${run}: acquire ${rootRunId(run)} before writing to it`,
    { runId: run },
  )
}

// Rules of claims: how many runs a claim may take, and in which order.

/** How many runs a claim may take. Calls `countHeld` only if there is a `crewLimit`. */
export function claimableCount({ limit, crewLimit }: ClaimLimits, countHeld: () => number): number {
  return Math.max(0, crewLimit === undefined ? limit : Math.min(limit, crewLimit - countHeld()))
}

/** Rounds a limit up to a whole number from 0 to `most`. */
export function wholeLimit(limit: number, most: number = Number.MAX_SAFE_INTEGER): number {
  return Math.min(Math.max(Math.ceil(limit), 0), most)
}

/** Reads a ready root from the row of a database. */
export function toReadyRun(root: Omit<ReadyRun, 'readyAt'> & { readonly ready_at: number }): ReadyRun {
  const { run, crew, version, format, priority, ready_at: readyAt } = root
  return { run, crew, version, format, priority, readyAt }
}

/** The distinct crews: a limit applies to a crew in all its versions. */
export function laneCrews(lanes: readonly Lane[]): Set<string> {
  return new Set(lanes.map(({ crew }) => crew))
}

export const highestFirst: readonly Priority[] = [1, 0, -1]

/** The order of claims: highest priority first, then the longest ready. */
export function byClaim(a: Pick<ReadyRun, 'priority' | 'readyAt'>, b: Pick<ReadyRun, 'priority' | 'readyAt'>): number {
  return b.priority - a.priority || a.readyAt - b.readyAt
}

export function isSameLane(a: Lane, b: Lane): boolean {
  return a.crew === b.crew && a.version === b.version && a.format === b.format
}
