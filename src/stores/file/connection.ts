// An open folder: its files, the table of roots with its lock, and the order in which files and table are written.
import { join } from 'node:path'
import { unknownRunError, storeClosedError } from '../rules/refusals.ts'
import type { RunId } from '../store.ts'
import { fileError } from './durable-files.ts'
import { leasesName } from './file-names.ts'
import type { JournalState } from './journal-file.ts'
import { openLeaseDatabase } from './lease-database.ts'
import type { Roots, StoredRoot } from './roots.ts'
import { openRunFiles, type RunFiles } from './run-files.ts'

export interface Connection {
  readonly url: string
  readonly folder: string
  readonly files: RunFiles
  readonly now: () => number
  /** Executes `work`. Errors of the file system become errors of the port. Rejects once the store is closed. */
  guarded<T>(work: () => Promise<T>): Promise<T>
  /** Executes `work` under the lock of the folder. */
  locked<T>(work: (roots: Roots) => Promise<T> | T): Promise<T>
  /**
   * Like `locked`. Files and the table of roots are written separately: if a change of the root's row must be committed
   * before `work` writes a file, `work` returns the change as a FirstCommit, and is called again after the commit.
   */
  lockedRoot<T extends object>(
    root: RunId,
    work: (roots: Roots, root: StoredRoot) => Promise<T | FirstCommit>,
  ): Promise<T>
  readRoots<T>(work: (roots: Roots) => T): Promise<T>
  /** Loads a journal. Rejects with JOURNAL_DAMAGED. */
  loadUndamaged(run: RunId): Promise<JournalState | undefined>
  /** Loads a journal. Rejects with JOURNAL_DAMAGED or RUN_NOT_FOUND. */
  loadExisting(run: RunId): Promise<JournalState>
  close(): Promise<void>
}

/** A change of the root's row to commit before anything else. */
export interface FirstCommit {
  readonly first: Partial<StoredRoot>
}

/** Marks the row as unsure first: if this process is killed before it updates the row, the next claim refreshes it. */
export const unsureFirst: FirstCommit = { first: { unsure: true } }

export async function openConnection(folder: string, now: () => number): Promise<Connection> {
  const url = `file:${folder}`
  const database = await openLeaseDatabase(join(folder, leasesName), url, now)
  const files = openRunFiles(folder)
  let closed = false

  const connection: Connection = {
    url,
    folder,
    files,
    now,
    async guarded(work) {
      if (closed) throw storeClosedError(url)
      try {
        return await work()
      } catch (error) {
        throw fileError(error, folder)
      }
    },
    locked: (work) => connection.guarded(() => database.locked(work)),
    async lockedRoot(root, work) {
      for (;;) {
        const result = await connection.locked((roots) => work(roots, roots.get(root)))
        if (!('first' in result)) return result
        await connection.locked((roots) => roots.put(root, { ...roots.get(root), ...result.first }))
      }
    },
    readRoots: (work) => connection.guarded(() => database.read(work)),
    async loadUndamaged(run) {
      const state = await files.load(run)
      if (state?.damage !== undefined) throw state.damage
      return state
    },
    async loadExisting(run) {
      const state = await connection.loadUndamaged(run)
      if (state === undefined) throw unknownRunError(run, url)
      return state
    },
    async close() {
      closed = true
      await database.close()
    },
  }
  return connection
}
