// What every store refuses, in the same words: the checks of a batch, the rules of leases, and the errors of the port.
import { RepriseError } from '../../base/errors.ts'
import { describeOwner, isOwnerDead, sameOwner } from '../owner.ts'
import { rootRunId } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import type { Batch, Lease, Owner, RunId, RunStatus } from '../store.ts'

/** A lease as a store keeps it, beside the token. */
export interface Holding {
  readonly owner: Owner
  /** Of the acquisition. */
  readonly id: string
  /** Milliseconds since 1970, by the store's clock. */
  readonly expiresAt: number
}

/** Whether a lease still keeps others out. */
export function isLive(holding: Holding | undefined, now: number): boolean {
  return holding !== undefined && holding.expiresAt > now && !isOwnerDead(holding.owner)
}

/** RUN_HELD unless `owner` may take the lease now. */
export function checkFree(run: RunId, holding: Holding | undefined, now: number, owner?: Owner): void {
  if (holding === undefined || !isLive(holding, now)) return
  if (owner !== undefined && sameOwner(owner, holding.owner)) return
  const until = new Date(holding.expiresAt).toISOString()
  throw new RepriseError(
    'RUN_HELD',
    `run ${run} is held by ${describeOwner(holding.owner)} until ${until} unless renewed: wait until it is done, or stop that process`,
    { runId: run, next: { act: 'show', runId: run }, until: holding.expiresAt },
  )
}

/** LEASE_LOST unless the lease is the newest and was not released. `token` is undefined when the run is gone. */
export function checkToken(lease: Lease, token: number | undefined, holding: Holding | undefined): void {
  if (token === lease.token && holding?.id === lease.id) return
  const now =
    token === undefined
      ? 'the run is no longer in the store'
      : holding === undefined
        ? 'it was released'
        : `${describeOwner(holding.owner)} holds token ${token}`
  throw new RepriseError(
    'LEASE_LOST',
    `the lease of run ${lease.run} with token ${lease.token} no longer counts: ${now}; acquire the run again before writing to it`,
    { runId: lease.run },
  )
}

/** LEASE_LOST unless the run belongs to the unit that is leased: no lease of another says anything of it. */
export function checkTree(lease: Lease, run: RunId): void {
  if (rootRunId(run) === lease.run) return
  throw new RepriseError(
    'LEASE_LOST',
    `the lease of run ${lease.run} does not count for run ${run}: acquire ${rootRunId(run)} before writing to it`,
    { runId: run },
  )
}

/** SEQ_CONFLICT when the journal ends elsewhere, or when the batch's own numbers do not follow `after`. */
export function checkSeq(run: RunId, last: number, after: number, batch: Batch): void {
  if (last !== after) {
    throw new RepriseError(
      'SEQ_CONFLICT',
      `run ${run} is at entry ${last}, not ${after}: read the run again and retry`,
      { runId: run },
    )
  }
  checkNumbers(run, after, batch)
}

export function checkNumbers(run: RunId, after: number, batch: Batch): void {
  const wrong = batch.lines.findIndex((line, index) => line.seq !== after + 1 + index)
  if (wrong === -1 && batch.lines.length > 0) return
  const found = wrong === -1 ? 'no line at all' : `line ${batch.lines[wrong]?.seq} where ${after + 1 + wrong} belongs`
  throw new RepriseError('SEQ_CONFLICT', `a batch for run ${run} after entry ${after} has ${found}`, { runId: run })
}

/** RUN_ENDED unless the run is open, or is a completed one that the batch's row opens again. */
export function checkOpen(run: RunId, status: RunStatus | undefined, batch: Batch): void {
  if (!isEnded(status)) return
  if (status === 'completed' && batch.row !== undefined && !isEnded(batch.row.status)) return
  throw new RepriseError(
    'RUN_ENDED',
    `run ${run} is ${status} and takes no more entries: make a new run from it instead`,
    { runId: run },
  )
}

/** INBOX_WAITING when the batch completes the run and does not take all that waits in its inbox. */
export function checkInbox(run: RunId, batch: Batch, waiting: () => readonly string[]): void {
  if (batch.row?.status !== 'completed') return
  const left = waiting().find((message) => !batch.taken?.includes(message))
  if (left === undefined) return
  throw new RepriseError(
    'INBOX_WAITING',
    `run ${run} cannot be completed: message ${left} waits in its inbox; read the inbox and record it first`,
    { runId: run },
  )
}

export function unknownRunError(run: RunId, url: string): RepriseError {
  return new RepriseError('RUN_NOT_FOUND', `there is no run ${run} in ${url}`, { runId: run, next: { act: 'runs' } })
}

export function storeClosedError(url: string): RepriseError {
  return new RepriseError('STORE_FAILED', `the store ${url} is closed: open it again`)
}

/** Until the first release, nothing is brought up to date. */
export function storeOlderError(store: string, layout: number, format: number, instead: string): RepriseError {
  return new RepriseError(
    'STORE_INVALID',
    `${store} has layout ${layout}, of an earlier build, and this build has layout ${format}: finish or delete its runs with the build that made it, ${instead}`,
  )
}

export function storeNewerError(path: string, oldest: number, format: number): RepriseError {
  return new RepriseError(
    'STORE_NEWER',
    `${path} may only be written by code of format ${oldest} or later, and this is format ${format}: update reprise, or use another store`,
  )
}
