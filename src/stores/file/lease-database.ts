// leases.db: the lock of the folder and the table of its roots. The lock is SQLite's own write lock, which the kernel
// drops when a process dies; it is held across the writes to a journal file, so the check of a lease and the write are
// one. A rollback journal rather than WAL: folders like this one get mounted, copied and synced, where shared memory
// does not work.
import type { DatabaseSync } from 'node:sqlite'
import { RepriseError } from '../../base/errors.ts'
import { storeClosedError, storeNewerError, storeOlderError } from '../rules/refusals.ts'
import { guardFile } from '../guard-file.ts'
import { whileBusy } from '../sqlite/errors.ts'
import { openDatabase } from '../sqlite/open-database.ts'
import { createTable, rootTable, type Roots } from './roots.ts'

/** A change of the table raises it: a database of another number is refused. */
export const formatNumber = 6

export interface LeaseDatabase {
  /** One at a time in this process and in all others. What `work` throws undoes its changes to roots. */
  locked<T>(work: (roots: Roots) => Promise<T> | T): Promise<T>
  /** A look at the roots between two lockings of this process. */
  read<T>(work: (roots: Roots) => T): Promise<T>
  close(): Promise<void>
}

/** STORE_INVALID, STORE_NEWER. */
export async function openLeaseDatabase(path: string, url: string, now: () => number): Promise<LeaseDatabase> {
  const db = await openDatabase(path, (opened) => bringUpToDate(opened, path))
  const roots = rootTable(db, now)
  const checkFile = guardFile(path)
  let turn: Promise<unknown> = Promise.resolve()
  let closed = false

  async function commit(): Promise<void> {
    try {
      // A reader in another process can be in the way of this very last step.
      await whileBusy(path, () => db.exec('commit'))
    } catch (error) {
      // The journal's lines are written by now, the lease perhaps not.
      throw new RepriseError('OUTCOME_UNKNOWN', `${path} failed while committing: read the run again`, { cause: error })
    }
  }

  function queued<T>(work: () => Promise<T>): Promise<T> {
    if (closed) return Promise.reject(storeClosedError(url))
    const mine = turn.then(work)
    turn = mine.catch(() => {})
    return mine
  }

  return {
    locked: (work) =>
      queued(async () => {
        await whileBusy(path, () => db.exec('begin immediate'))
        try {
          // two processes with different files of this name would both hold the lock
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

/** Makes the table in a new database. STORE_NEWER, and STORE_INVALID for the layout of an earlier build. */
function bringUpToDate(db: DatabaseSync, path: string): void {
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

/** The number of its layout; 0 for a new database. STORE_INVALID for the layout of an earlier build. */
export function readLayout(db: DatabaseSync, path: string): number {
  const layout = Number(db.prepare('pragma user_version').get()?.['user_version'])
  if (layout !== 0 && layout < formatNumber) throw storeOlderError(path, layout, formatNumber, 'or use another folder')
  return layout
}
