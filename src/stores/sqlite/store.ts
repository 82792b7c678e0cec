// The default store: one SQLite file, for one machine and any number of its processes. Every change is part of one
// transaction, in WAL mode with full syncing. The database's write lock makes the check of a lease and the write one
// step.
import { resolve } from 'node:path'
import { driverStore, type Driver } from '../rules/driver.ts'
import type { Store } from '../store.ts'
import { createWatchers, type Watchers } from '../watchers.ts'
import * as appending from './append.ts'
import * as claiming from './claim.ts'
import { openConnection, type Connection } from './connection.ts'
import * as creating from './create.ts'
import * as inbox from './inbox.ts'
import * as journal from './journal.ts'
import * as leases from './leases.ts'
import * as listing from './listing.ts'

/** Interval at which watchers poll for commits by other processes. */
const pollMs = 100

const driver: Driver<Connection> = {
  ...appending,
  ...claiming,
  ...creating,
  ...inbox,
  ...journal,
  ...leases,
  ...listing,
  findTime: async ({ now }) => now(),
}

export interface SqliteStoreOptions {
  /** The clock by which leases expire. Default: Date.now. */
  readonly now?: () => number
}

/**
 * Opens the database, creating it and its folder if missing. Rejects with STORE_INVALID if it cannot be opened or
 * written, and with STORE_NEWER if only newer code may write it.
 */
export async function sqliteStore(path: string, options: SqliteStoreOptions = {}): Promise<Store> {
  const connection = await openConnection(resolve(path), options.now ?? Date.now)
  return driverStore(driver, connection, watchDatabase(connection), () => connection.close())
}

/** Polls `data_version`, which changes when another connection commits. It doesn't show which run changed. */
function watchDatabase(connection: Connection): Watchers {
  let timer: NodeJS.Timeout | undefined
  let version: unknown
  function dataVersion(): unknown {
    try {
      return connection.sql('pragma data_version').get()?.['data_version']
    } catch {
      // locked: the next poll tries again
      return version
    }
  }
  const watchers = createWatchers({
    start() {
      version = dataVersion()
      timer = setInterval(() => {
        const before = version
        version = dataVersion()
        if (version !== before) watchers.changed()
      }, pollMs)
      // a watcher alone must not keep the process alive
      timer.unref()
    },
    stop() {
      clearInterval(timer)
    },
  })
  return watchers
}
