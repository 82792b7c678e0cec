// The refusals of every store, with the same messages: checks of batches, rules of leases, and errors of the port.
import { RepriseError } from '../../base/errors.ts'
import { describeOwner, isOwnerDead, sameOwner } from '../owner.ts'
import { rootRunId } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import type { Batch, Lease, Owner, RunId, RunStatus } from '../store.ts'

/** A stored lease, without its token. */
export interface Holding {
  readonly owner: Owner
  /** The id of the acquisition. */
  readonly id: string
  /** Milliseconds since 1970, by the store's clock. */
  readonly expiresAt: number
}

/** Whether a lease still excludes other owners. */
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
    { runId: run, next: { type: 'show', runId: run }, until: holding.expiresAt },
  )
}

/** LEASE_LOST unless the lease is the newest and was not released. `token` is undefined if the run was deleted. */
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
    `the lease of run ${lease.run} with token ${lease.token} is no longer valid: ${now}; acquire the run again before writing to it`,
    { runId: lease.run },
  )
}

/** LEASE_LOST unless the run belongs to the leased tree. */
export function checkTree(lease: Lease, run: RunId): void {
  if (rootRunId(run) === lease.run) return
  throw new RepriseError(
    'LEASE_LOST',
    `the lease of run ${lease.run} does not cover run ${run}: acquire ${rootRunId(run)} before writing to it`,
    { runId: run },
  )
}

/** SEQ_CONFLICT if the journal doesn't end at `after`, or the batch's numbers don't follow it. */
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
  const mistake = wrong === -1 ? 'no lines' : `line ${batch.lines[wrong]?.seq} in the place of ${after + 1 + wrong}`
  throw new RepriseError('SEQ_CONFLICT', `a batch for run ${run} after entry ${after} has ${mistake}`, { runId: run })
}

/** RUN_ENDED unless the run is open, or is completed and the batch's row reopens it. */
export function checkOpen(run: RunId, status: RunStatus | undefined, batch: Batch): void {
  if (!isEnded(status)) return
  if (status === 'completed' && batch.row !== undefined && !isEnded(batch.row.status)) return
  throw new RepriseError('RUN_ENDED', `run ${run} is ${status} and takes no more entries: fork it instead`, {
    runId: run,
  })
}

/** INBOX_WAITING if the batch completes the run without taking all messages in its inbox. */
export function checkInbox(run: RunId, batch: Batch, waiting: () => readonly string[]): void {
  if (batch.row?.status !== 'completed') return
  const untaken = waiting().find((message) => !batch.taken?.includes(message))
  if (untaken === undefined) return
  throw new RepriseError(
    'INBOX_WAITING',
    `run ${run} cannot be completed: message ${untaken} waits in its inbox; read the inbox and record it first`,
    { runId: run },
  )
}

export function unknownRunError(run: RunId, url: string): RepriseError {
  return new RepriseError('RUN_NOT_FOUND', `there is no run ${run} in ${url}`, { runId: run, next: { type: 'runs' } })
}

export function storeClosedError(url: string): RepriseError {
  return new RepriseError('STORE_FAILED', `the store ${url} is closed: open it again`)
}

/** Until the first release, older layouts are refused, not migrated. */
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
