// leases.db: the lock of the folder, and the table of its roots. The lock is SQLite's write lock, which the kernel
// releases when a process dies. It is held across writes to a journal file, so checking a lease and writing are one
// step. Uses a rollback journal, not WAL: people put folders of runs on network drives and sync them, and WAL's shared
// memory doesn't work there.
import type { DatabaseSync } from 'node:sqlite'
import { RepriseError } from '../../base/errors.ts'
import { storeClosedError, storeNewerError, storeOlderError } from '../rules/refusals.ts'
import { guardFile, openDatabase, whileBusy } from '../sqlite/open-database.ts'
import { createTable, rootTable, type Roots } from './roots.ts'

/** Raised by every change of the table. A database with another number is refused. */
export const formatNumber = 7

export interface LeaseDatabase {
  /** Executes `work` for one caller at a time, over all processes. If it rejects, its changes are rolled back. */
  locked<T>(work: (roots: Roots) => Promise<T> | T): Promise<T>
  /** Reads the roots while no call of this process holds the lock. */
  read<T>(work: (roots: Roots) => T): Promise<T>
  close(): Promise<void>
}

/** Opens or creates the database. Rejects with STORE_INVALID or STORE_NEWER if this code cannot use it. */
export async function openLeaseDatabase(path: string, url: string, now: () => number): Promise<LeaseDatabase> {
  const db = await openDatabase(path, (opened) => prepareTable(opened, path))
  const roots = rootTable(db, now)
  const checkFile = guardFile(path)
  let turn: Promise<unknown> = Promise.resolve()
  let closed = false

  async function commit(): Promise<void> {
    try {
      // a reader in another process can block even the commit
      await whileBusy(path, () => db.exec('commit'))
    } catch (error) {
      // the lines of the journal are written, the roots perhaps not
      const words = `${path} failed during a commit: read the run again to see whether the change was written`
      throw new RepriseError('OUTCOME_UNKNOWN', words, { cause: error })
    }
  }

  function queued<T>(work: () => Promise<T>): Promise<T> {
    if (closed) return Promise.reject(storeClosedError(url))
    const result = turn.then(work)
    turn = result.catch(() => {})
    return result
  }

  return {
    locked: (work) =>
      queued(async () => {
        await whileBusy(path, () => db.exec('begin immediate'))
        try {
          // if the file was replaced, two processes with different files could both hold the lock
          checkFile()
          const result = await work(roots)
          await commit()
          return result
        } catch (error) {
          if (db.isTransaction) db.exec('rollback')
          throw error
        }
      }),
    read: (work) => queued(() => whileBusy(path, () => work(roots))),
    async close() {
      if (closed) return
      closed = true
      await turn
      db.close()
    },
  }
}

/** Creates the table in a new database. Throws STORE_NEWER or STORE_INVALID for the layout of another build. */
function prepareTable(db: DatabaseSync, path: string): void {
  const layout = readLayout(db, path)
  if (layout > formatNumber) throw storeNewerError(path, layout, formatNumber)
  db.exec('pragma synchronous = full')
  if (layout !== 0) return
  db.exec('begin immediate')
  try {
    if (readLayout(db, path) === 0) db.exec(`${createTable}; pragma user_version = ${formatNumber}`)
    db.exec('commit')
  } catch (error) {
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}

/** Returns 0 for a new database. Throws STORE_INVALID for the layout of an earlier build. */
export function readLayout(db: DatabaseSync, path: string): number {
  const layout = Number(db.prepare('pragma user_version').get()?.['user_version'])
  if (layout !== 0 && layout < formatNumber) throw storeOlderError(path, layout, formatNumber, 'or use another folder')
  return layout
}
