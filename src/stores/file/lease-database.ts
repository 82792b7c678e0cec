// leases.db: the lock of the folder and the table of its leases. The lock is SQLite's own write lock, which the kernel
// drops when a process dies; it is held across the writes to a journal file, so the check of a lease and the write are
// one. A rollback journal rather than WAL: folders like this one get mounted, copied and synced, where shared memory
// does not work.
import type { DatabaseSync } from 'node:sqlite'
import { RepriseError } from '../../errors.ts'
import { readOwner } from '../owner.ts'
import { storeClosed, storeNewer, type Holding } from '../refusals.ts'
import { sameFile } from '../same-file.ts'
import { openDatabase } from '../sqlite/open-database.ts'
import { whileBusy } from '../sqlite/sqlite-errors.ts'
import type { RunId } from '../store.ts'

/** What this code can write. */
export const formatNumber = 1

export interface StoredLease {
  /** 0 when the run was never leased. */
  readonly token: number
  readonly holding: Holding | undefined
}

/** Valid only inside the lock. */
export interface Leases {
  get(run: RunId): StoredLease
  put(run: RunId, token: number, holding: Holding | undefined): void
}

export interface LeaseDatabase {
  /** One at a time in this process and in all others. What `work` throws undoes its changes to leases. */
  locked<T>(work: (leases: Leases) => Promise<T> | T): Promise<T>
  /** A look at the leases between two lockings of this process. */
  look<T>(work: (leases: Leases) => T): Promise<T>
  close(): Promise<void>
}

/** STORE_INVALID, STORE_NEWER. */
export async function openLeaseDatabase(path: string, url: string): Promise<LeaseDatabase> {
  const db = await openDatabase(path, (opened) => bringUpToDate(opened, path))
  const select = db.prepare('select token, owner, expires_at from leases where run = ?')
  const upsert = db.prepare(
    'insert into leases (run, token, owner, expires_at) values (?, ?, ?, ?) on conflict (run) do update set token = excluded.token, owner = excluded.owner, expires_at = excluded.expires_at',
  )
  const checkFile = sameFile(path)
  let turn: Promise<unknown> = Promise.resolve()
  let closed = false

  const leases: Leases = {
    get(run) {
      const row = select.get(run)
      if (row === undefined) return { token: 0, holding: undefined }
      const owner = readOwner(row['owner'] as string | null)
      return { token: Number(row['token']), holding: owner && { owner, expiresAt: Number(row['expires_at']) } }
    },
    put(run, token, holding) {
      upsert.run(run, token, holding ? JSON.stringify(holding.owner) : null, holding?.expiresAt ?? null)
    },
  }

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
    if (closed) return Promise.reject(storeClosed(url))
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
          const result = await work(leases)
          await commit()
          return result
        } catch (error) {
          if (db.isTransaction) db.exec('rollback')
          throw error
        }
      }),
    look: (work) => queued(() => whileBusy(path, () => work(leases))),
    async close() {
      if (closed) return
      closed = true
      await turn
      db.close()
    },
  }
}

function bringUpToDate(db: DatabaseSync, path: string): void {
  const version = Number(db.prepare('pragma user_version').get()?.['user_version'])
  if (version > formatNumber) throw storeNewer(path, version, formatNumber)
  db.exec('pragma synchronous = full')
  if (version === formatNumber) return
  db.exec(`begin immediate;
    create table if not exists leases (id integer primary key, run text not null unique, token integer not null, owner text, expires_at integer);
    pragma user_version = ${formatNumber};
    commit`)
}
