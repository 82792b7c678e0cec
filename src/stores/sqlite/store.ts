// The default store: one SQLite file, for one machine and any number of its processes. Every change is one transaction
// in WAL mode with full syncing. The database's write lock makes the check of a lease and the write one step.
import { resolve } from 'node:path'
import type { Store } from '../store.ts'
import { createWatchers, type Watchers } from '../watchers.ts'
import { appendBatch } from './append.ts'
import { claimRuns, listReady } from './claim.ts'
import { openConnection, type Connection } from './connection.ts'
import { createRun } from './create.ts'
import { postMessage, listMessages } from './inbox.ts'
import { findLastNoted, readBlob, readLines } from './journal.ts'
import { acquireLease, deleteRun, findHolder, findTries, releaseLease, renewLeases } from './leases.ts'
import { findOutput, findRow, listRows } from './listing.ts'

/** Interval at which watchers look for commits of other processes. */
const pollMs = 100

export interface SqliteStoreOptions {
  /** The clock that leases expire by. Default: Date.now. */
  readonly now?: () => number
}

/** Opens the database, creating it and its folder if missing. STORE_INVALID, STORE_NEWER. */
export async function sqliteStore(path: string, options: SqliteStoreOptions = {}): Promise<Store> {
  const connection = await openConnection(resolve(path), options.now ?? Date.now)
  const watchers = watchDatabase(connection)

  return {
    url: connection.url,
    async create(row, batch, lease) {
      const result = await createRun(connection, row, batch, lease)
      if (result.created) watchers.changed(row.run)
      return result
    },
    async append(lease, after, batch) {
      const waiting = await appendBatch(connection, lease, after, batch)
      watchers.changed(batch.run ?? lease.run)
      return waiting
    },
    read: (run, after = 0) => readLines(connection, run, after),
    lastNoted: (run) => findLastNoted(connection, run),
    blob: (run, hash) => readBlob(connection, run, hash),
    row: (run) => findRow(connection, run),
    list: (filter, page) => listRows(connection, filter, page),
    findOutput: (crew, task, fingerprint, since = 0) => findOutput(connection, crew, task, fingerprint, since),
    acquire: (run, owner, ttlMs) => acquireLease(connection, run, owner, ttlMs),
    claim: (...args) => claimRuns(connection, ...args),
    ready: (lanes, limit) => listReady(connection, lanes, limit),
    renew: (leases, ttlMs) => renewLeases(connection, leases, ttlMs),
    async release(lease) {
      const waiting = await releaseLease(connection, lease)
      if (waiting !== undefined) watchers.changed(lease.run)
      return waiting ?? 0
    },
    holder: (run) => findHolder(connection, run),
    now: async () => connection.now(),
    tries: (run) => findTries(connection, run),
    async post(run, message) {
      const result = await postMessage(connection, run, message)
      if (result === 'posted') watchers.posted(run)
      return result
    },
    inbox: (run) => listMessages(connection, run),
    watch: (run, signal, only) => watchers.watch(run, signal, only),
    async delete(run) {
      for (const deleted of await deleteRun(connection, run)) watchers.changed(deleted)
    },
    async close() {
      watchers.close()
      await connection.close()
    },
  }
}

/** `data_version` changes when another connection commits. Which run it changed is unknown. */
function watchDatabase(connection: Connection): Watchers {
  let timer: NodeJS.Timeout | undefined
  let version: unknown
  function dataVersion(): unknown {
    try {
      return connection.sql('pragma data_version').get()?.['data_version']
    } catch {
      // locked: the next round tries again
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
      // A watcher alone keeps no process alive.
      timer.unref()
    },
    stop() {
      clearInterval(timer)
    },
  })
  return watchers
}
