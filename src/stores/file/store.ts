// For people who read and edit state by hand: a folder with one JSON-lines file per run. A line that somebody removed
// is a gap, and the run continues after it; everything else that the store says of a run is folded from the lines that
// are left. Changes are made under the lock of leases.db, reads without it: a file only grows, and what is unfinished
// at its end is not seen.
import { resolve } from 'node:path'
import { makePrivateFolder } from '../private-folder.ts'
import type { Store } from '../store.ts'
import { appendBatch } from './append.ts'
import { claimRoots } from './claim.ts'
import { createRun } from './create.ts'
import { fileError } from './durable-files.ts'
import { openConnection } from './connection.ts'
import { postMessage, listMessages } from './inbox.ts'
import { readLines } from './journal.ts'
import { acquireLease, deleteRun, findHolder, findTries, releaseLease, renewLeases } from './leases.ts'
import { findOutput, findRow, listRows } from './listing.ts'
import { watchFolder } from './watch.ts'

export interface FileStoreOptions {
  /** The clock that leases expire by; Date.now unless a test brings its own. */
  readonly now?: () => number
}

/** Opens the folder, making it when missing. STORE_INVALID, STORE_NEWER. */
export async function fileStore(path: string, options: FileStoreOptions = {}): Promise<Store> {
  const folder = resolve(path)
  await makePrivateFolder(folder)
  const access = await openConnection(folder, options.now ?? Date.now)
  const { url, files, now, guarded, locked } = access
  const watchers = watchFolder(folder)

  return {
    url,
    async create(first, batch, lease) {
      const result = await createRun(access, first, batch, lease)
      if (result.created) watchers.changed(first.run)
      return result
    },
    async append(lease, after, batch) {
      const waiting = await appendBatch(access, lease, after, batch)
      watchers.changed(batch.run ?? lease.run)
      return waiting
    },
    async *read(run, after = 0) {
      const state = await guarded(() => access.loadUndamaged(run))
      if (state === undefined) return
      try {
        yield* readLines(state, after)
      } catch (error) {
        throw fileError(error, folder)
      }
    },
    lastNoted: (run) => guarded(async () => (await files.load(run))?.noted),
    blob: (run, hash) => guarded(() => files.blob(run, hash)),
    row: (run) => findRow(access, run),
    list: (filter, page) => listRows(access, filter, page),
    findOutput: (...args) => findOutput(access, ...args),
    acquire: (run, owner, ttlMs) => acquireLease(access, run, owner, ttlMs),
    claim: (owner, ttlMs, lanes, room) =>
      locked((roots) => claimRoots(files, roots, { owner, ttlMs, lanes, room }, now)),
    ready: (lanes, limit) => access.readRoots((roots) => roots.listReady(lanes, limit)),
    renew: (leases, ttlMs) => renewLeases(access, leases, ttlMs),
    async release(lease) {
      const waiting = await releaseLease(access, lease)
      if (waiting !== undefined) watchers.changed(lease.run)
      return waiting ?? 0
    },
    holder: (run) => findHolder(access, run),
    now: async () => now(),
    tries: (run) => findTries(access, run),
    async post(run, message) {
      const result = await postMessage(access, run, message)
      if (result === 'posted') watchers.posted(run)
      return result
    },
    inbox: (run) => listMessages(access, run),
    watch: (run, signal, only) => watchers.watch(run, signal, only),
    async delete(run) {
      for (const gone of await deleteRun(access, run)) watchers.changed(gone)
    },
    async close() {
      watchers.close()
      await access.close()
    },
  }
}
