// Keeps runs in one schema of a PostgreSQL database, for any number of machines. Most changes are one statement, and
// the others one transaction. Each locks the row of the tree's root, so checking the lease and writing are one step.
import { driverStore, type Driver } from '../rules/driver.ts'
import type { Store } from '../store.ts'
import { groupAppends } from './append.ts'
import * as claiming from './claim.ts'
import { openPool } from './connection.ts'
import * as creating from './create.ts'
import { findTime, openDatabase, type Database } from './database.ts'
import * as inbox from './inbox.ts'
import * as journal from './journal.ts'
import * as leases from './leases.ts'
import * as listing from './listing.ts'
import { readPostgresUrl, type PostgresOptions } from './url.ts'
import { watchDatabase } from './watch.ts'

export interface PostgresStoreOptions extends PostgresOptions {
  /** The clock by which leases expire. Default: the server's. For tests. */
  readonly now?: () => number
}

/**
 * Opens a schema of a database, creating or migrating it as needed. Succeeds even if the server is unreachable: calls
 * then reject with STORE_UNAVAILABLE until it is back. Rejects with STORE_INVALID if the URL is invalid or the database
 * cannot be used, and with STORE_NEWER if only newer code may write it.
 */
export async function postgresStore(url: string, options: PostgresStoreOptions = {}): Promise<Store> {
  const settings = readPostgresUrl(url, options)
  const pool = await openPool(settings)
  const database = await openDatabase(pool, settings.schema, options.now).catch(async (error: unknown) => {
    await pool.close()
    throw error
  })
  const appends = groupAppends(database)
  const driver: Driver<Database> = {
    appendBatch: (_, ...args) => appends.append(...args),
    ...claiming,
    ...creating,
    ...inbox,
    ...journal,
    ...leases,
    ...listing,
    findTime,
  }
  return driverStore(driver, database, watchDatabase(database), async () => {
    await appends.close()
    await pool.close()
  })
}
