// Keeps runs in one schema of a PostgreSQL database, for any number of machines. Every change is a single statement and
// therefore a transaction. The row of a tree's root makes checking the lease and writing atomic.
import { driverStore, type Driver } from '../rules/driver.ts'
import type { Store } from '../store.ts'
import { groupAppends } from './append.ts'
import { claimRuns, listReady } from './claim.ts'
import { openPool } from './connection.ts'
import { createRun } from './create.ts'
import { findTime, openDatabase, type Database } from './database.ts'
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
  const driver: Driver<Database> = {
    createRun,
    appendBatch: (_, ...args) => appends.append(...args),
    readLines,
    findLastNoted,
    readBlob,
    findRow,
    listRows,
    findOutput,
    acquireLease,
    claimRuns,
    listReady,
    renewLeases,
    releaseLease,
    findHolder,
    findTime,
    findTries,
    postMessage,
    listMessages,
    deleteRun,
  }
  return driverStore(driver, database, watchDatabase(database), async () => {
    await appends.close()
    await pool.close()
  })
}
