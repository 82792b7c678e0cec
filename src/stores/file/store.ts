// A folder with one JSON Lines file per run, for people who read and edit state by hand. A removed line is a gap, and
// the run continues after it; everything else that the store knows of a run is folded from the remaining lines. Writes
// hold the lock of leases.db. Reads don't: a file only grows, and an unfinished write at its end is not visible.
import { resolve } from 'node:path'
import { makePrivateFolder } from '../private-folder.ts'
import type { Store } from '../store.ts'
import { appendBatch } from './append.ts'
import { claimRuns, listReady } from './claim.ts'
import { openConnection } from './connection.ts'
import { createRun } from './create.ts'
import { listMessages, postMessage } from './inbox.ts'
import { findLastNoted, readBlob, readLines } from './journal.ts'
import { acquireLease, deleteRun, findHolder, findTries, releaseLease, renewLeases } from './leases.ts'
import { findOutput, findRow, listRows } from './listing.ts'
import { watchFolder } from './watch.ts'

export interface FileStoreOptions {
  /** The clock that leases expire by. Default: Date.now. */
  readonly now?: () => number
}

/** Opens the folder, creating it if missing. STORE_INVALID, STORE_NEWER. */
export async function fileStore(path: string, options: FileStoreOptions = {}): Promise<Store> {
  const folder = resolve(path)
  await makePrivateFolder(folder)
  const connection = await openConnection(folder, options.now ?? Date.now)
  const watchers = watchFolder(folder)

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
