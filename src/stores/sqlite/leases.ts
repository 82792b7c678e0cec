// Who may write to a run. Everything here runs under the database's write lock, so two processes never see the same
// free run.
import { rootRun, worksFor } from '../../journal/paths.ts'
import { oldestFirst } from '../cursor.ts'
import { checkFree, isLive, rememberGone, runNotFound } from '../refusals.ts'
import type { CrewVersion, Lease, Owner, RunId } from '../store.ts'
import type { Connection } from './connection.ts'
import { findLease, holdingOf, leaseColumns, type LeaseRecord } from './records.ts'

export function acquireLease(connection: Connection, run: RunId, owner: Owner, ttlMs: number): Promise<Lease> {
  return connection.write(() => {
    const record = findLease(connection, run)
    if (record === undefined) throw runNotFound(run, connection.url)
    checkFree(run, holdingOf(record), connection.now(), owner)
    return take(connection, record, owner, ttlMs)
  })
}

export function claimRuns(
  connection: Connection,
  owner: Owner,
  ttlMs: number,
  crews: readonly CrewVersion[],
  limit: number,
): Promise<Lease[]> {
  return connection.write(() => {
    const gone = rememberGone()
    const now = connection.now()
    const found: Waiting[] = []
    for (const { crew, version } of crews) {
      let taken = 0
      for (const record of waitingRuns(connection, crew, version)) {
        if (taken >= limit) break
        if (isLive(holdingOf(record), now, gone)) continue
        found.push({ record, createdAt: record.created_at, run: record.run })
        taken++
      }
    }
    const oldest = new Map(found.toSorted(oldestFirst).map((waiting) => [waiting.run, waiting.record]))
    return [...oldest.values()].slice(0, Math.max(limit, 0)).map((record) => take(connection, record, owner, ttlMs))
  })
}

export function renewLeases(connection: Connection, leases: readonly Lease[], ttlMs: number): Promise<Lease[]> {
  return connection.write(() => {
    const renew = connection.sql('update runs set expires_at = ? where run = ? and token = ? and owner is not null')
    const until = connection.now() + ttlMs
    return leases.filter((lease) => Number(renew.run(until, lease.run, lease.token).changes) === 1)
  })
}

/** Whether there was anything to give back. */
export function releaseLease(connection: Connection, lease: Lease): Promise<boolean> {
  return connection.write(() => {
    const release = connection.sql(
      'update runs set owner = null, expires_at = null where run = ? and token = ? and owner is not null',
    )
    return Number(release.run(lease.run, lease.token).changes) === 1
  })
}

export async function findHolder(connection: Connection, run: RunId): Promise<Owner | undefined> {
  const record = await connection.read(() => findLease(connection, run))
  const holding = record && holdingOf(record)
  return isLive(holding, connection.now()) ? holding?.owner : undefined
}

/** Those that were deleted: the run, and the runs that worked for it. */
export function deleteRun(connection: Connection, run: RunId): Promise<RunId[]> {
  const { sql } = connection
  return connection.write(() => {
    const ids = sql('select run from runs where root = ?').all(rootRun(run))
    const unit = ids.map((row) => String(row['run'])).filter((id) => worksFor(id, run))
    const records = unit.map((id) => findLease(connection, id) as LeaseRecord)
    for (const record of records) checkFree(record.run, holdingOf(record), connection.now())
    for (const { id, token } of records) {
      sql('update tokens set floor = max(floor, ?)').run(token)
      sql('delete from runs where id = ?').run(id)
    }
    return unit
  })
}

interface Waiting {
  readonly record: LeaseRecord
  readonly createdAt: string
  readonly run: string
}

function waitingRuns(
  connection: Connection,
  crew: string,
  version: string,
): Iterable<LeaseRecord & { created_at: string }> {
  // The first condition repeats the index's own word for word: only then does SQLite use it.
  return connection
    .sql(
      `select ${leaseColumns}, created_at from runs
       where status in ('queued', 'running', 'suspended') and crew = ? and version = ?
         and (status <> 'suspended' or exists (select 1 from messages where run_id = runs.id and taken = 0))
       order by created_at, run`,
    )
    .iterate(crew, version) as Iterable<unknown> as Iterable<LeaseRecord & { created_at: string }>
}

function take(connection: Connection, record: LeaseRecord, owner: Owner, ttlMs: number): Lease {
  const token = record.token + 1
  connection
    .sql('update runs set token = ?, owner = ?, expires_at = ? where id = ?')
    .run(token, JSON.stringify(owner), connection.now() + ttlMs, record.id)
  return { run: record.run, token, owner }
}
