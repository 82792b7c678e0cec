// Keeps runs in one schema of a PostgreSQL database, for any number of machines. Every change is a single statement and
// therefore a transaction. The row of a tree's root makes checking the lease and writing atomic.
import type { Store } from '../store.ts'
import { groupAppends } from './append.ts'
import { claimRuns, listReady } from './claim.ts'
import { openPool } from './connection.ts'
import { createRun } from './create.ts'
import { findTime, openDatabase } from './database.ts'
import { postMessage, listMessages } from './inbox.ts'
import { findLastNoted, readBlob, readLines } from './journal.ts'
import { acquireLease, deleteRun, findHolder, findTries, releaseLease, renewLeases } from './leases.ts'
import { findOutput, findRow, listRows } from './listing.ts'
import { readPostgresUrl, type PostgresOptions } from './url.ts'
import { watchDatabase } from './watch.ts'

export interface PostgresStoreOptions extends PostgresOptions {
  /** The clock by which leases expire. Default: the server's. For tests. */
  readonly now?: () => number
}

/**
 * Opens a schema of a database, creating or migrating it as needed. Succeeds even if the server is unreachable: calls
 * then reject with STORE_UNAVAILABLE until it is back. STORE_INVALID, STORE_NEWER.
 */
export async function postgresStore(url: string, options: PostgresStoreOptions = {}): Promise<Store> {
  const place = readPostgresUrl(url, options)
  const pool = await openPool(place)
  const database = await openDatabase(pool, place.schema, options.now).catch(async (error: unknown) => {
    await pool.close()
    throw error
  })
  const appends = groupAppends(database)
  const watchers = watchDatabase(database)

  return {
    url: database.url,
    async create(run, batch, lease) {
      const result = await createRun(database, run, batch, lease)
      if (result.created) watchers.changed(run.run)
      return result
    },
    async append(lease, after, batch) {
      const waiting = await appends.append(lease, after, batch)
      watchers.changed(batch.run ?? lease.run)
      return waiting
    },
    read: (run, after = 0) => readLines(database, run, after),
    lastNoted: (run) => findLastNoted(database, run),
    blob: (run, hash) => readBlob(database, run, hash),
    row: (run) => findRow(database, run),
    list: (filter, page) => listRows(database, filter, page),
    findOutput: (crew, task, fingerprint, since = 0) => findOutput(database, crew, task, fingerprint, since),
    acquire: (run, owner, ttlMs) => acquireLease(database, run, owner, ttlMs),
    claim: (...args) => claimRuns(database, ...args),
    ready: (lanes, limit) => listReady(database, lanes, limit),
    renew: (leases, ttlMs) => renewLeases(database, leases, ttlMs),
    async release(lease) {
      const waiting = await releaseLease(database, lease)
      if (waiting !== undefined) watchers.changed(lease.run)
      return waiting ?? 0
    },
    holder: (run) => findHolder(database, run),
    now: () => findTime(database),
    tries: (run) => findTries(database, run),
    async post(run, message) {
      const result = await postMessage(database, run, message)
      if (result === 'posted') watchers.posted(run)
      return result
    },
    inbox: (run) => listMessages(database, run),
    watch: (run, signal, only) => watchers.watch(run, signal, only),
    async delete(run) {
      for (const gone of await deleteRun(database, run)) watchers.changed(gone)
    },
    async close() {
      watchers.close()
      await appends.close()
      await pool.close()
    },
  }
}
