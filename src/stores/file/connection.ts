// The open folder, for what works on it: its files, the lock, and the order in which the two may be written.
import { join } from 'node:path'
import { unknownRunError, storeClosedError } from '../rules/refusals.ts'
import type { RunId } from '../store.ts'
import { openLeaseDatabase } from './lease-database.ts'
import { fileError } from './durable-files.ts'
import { leasesName } from './file-names.ts'
import type { JournalState } from './journal.ts'
import type { Roots, StoredRoot } from './roots.ts'
import { openRunFiles, type RunFiles } from './run-files.ts'

export interface Connection {
  readonly url: string
  readonly files: RunFiles
  readonly now: () => number
  /** Refuses when the store is closed, and words what the file system says. */
  guarded<T>(work: () => Promise<T>): Promise<T>
  locked<T>(work: (roots: Roots) => Promise<T> | T): Promise<T>
  /**
   * The files and the table of roots commit apart. So `work` may ask for something to be in the table before it writes
   * a file: that is committed, and the work begins anew.
   */
  lockedRoot<T extends object>(
    root: RunId,
    work: (roots: Roots, root: StoredRoot) => Promise<T | FirstCommit>,
  ): Promise<T>
  readRoots<T>(work: (roots: Roots) => T): Promise<T>
  /** JOURNAL_DAMAGED. */
  loadUndamaged(run: RunId): Promise<JournalState | undefined>
  /** JOURNAL_DAMAGED, RUN_NOT_FOUND. */
  loadExisting(run: RunId): Promise<JournalState>
  close(): Promise<void>
}

/** To be committed to the row of the root before anything else is done. */
export interface FirstCommit {
  readonly first: Partial<StoredRoot>
}

/** Whatever happens next, whoever claims looks at the files of this root. */
export const unsureFirst: FirstCommit = { first: { unsure: true } }

export async function openConnection(folder: string, now: () => number): Promise<Connection> {
  const url = `file:${folder}`
  const database = await openLeaseDatabase(join(folder, leasesName), url, now)
  const files = openRunFiles(folder)
  let closed = false

  const access: Connection = {
    url,
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
    locked: (work) => access.guarded(() => database.locked(work)),
    async lockedRoot(root, work) {
      for (;;) {
        const done = await access.locked((roots) => work(roots, roots.get(root)))
        if (!('first' in done)) return done
        await access.locked((roots) => roots.put(root, { ...roots.get(root), ...done.first }))
      }
    },
    readRoots: (work) => access.guarded(() => database.read(work)),
    async loadUndamaged(run) {
      const state = await files.load(run)
      if (state?.damage !== undefined) throw state.damage
      return state
    },
    async loadExisting(run) {
      const state = await access.loadUndamaged(run)
      if (state === undefined) throw unknownRunError(run, url)
      return state
    },
    async close() {
      closed = true
      await database.close()
    },
  }
  return access
}
