// An open database: one connection, its prepared statements, and the two ways to use it. Reads run at once, between
// commits; writes go through the group commit.
import { dirname } from 'node:path'
import type { StatementSync } from 'node:sqlite'
import { makePrivateFolder } from '../private-folder.ts'
import { storeClosedError } from '../rules/refusals.ts'
import { guardFile, openDatabase, statementCache } from './open-database.ts'
import { whileBusy } from './errors.ts'
import { groupCommit } from './group-commit.ts'
import { migrate } from './migrate.ts'

/**
 * Twice SQLite's default: of steps of 1 KB (1.4 KB as a line), often only two fit into 4 KB, and the file gets twice
 * their size. Applies to new files only.
 */
const pageBytes = 8192

export interface Connection {
  readonly url: string
  readonly path: string
  readonly now: () => number
  readonly sql: (text: string) => StatementSync
  /** `work` is synchronous and one statement, so that it sees one state of the database. */
  read<T>(work: () => T): Promise<T>
  /**
   * `work` is synchronous, in a shared transaction. Resolves when it is on disk. STORE_FAILED if the file was removed.
   */
  write<T>(work: () => T): Promise<T>
  /** The same for a plain step, except that the file is checked only now and then. */
  writeStep<T>(work: () => T): Promise<T>
  /** Waits for writes in progress. Refuses later calls. */
  close(): Promise<void>
}

/**
 * How long steps may go to a removed file unnoticed. A check costs two system calls, a third of the time of a synced
 * step.
 */
const fileCheckMs = 100

/** STORE_INVALID, STORE_NEWER. `path` is absolute. */
export async function openConnection(path: string, now: () => number): Promise<Connection> {
  const url = `sqlite:${path}`
  await makePrivateFolder(dirname(path))
  const db = await openDatabase(path, (opened) => {
    opened.exec(`pragma page_size = ${pageBytes}; pragma synchronous = full; pragma foreign_keys = on`)
    migrate(opened, path)
    // written into the file, so only after the file is known to be ours
    opened.exec('pragma journal_mode = wal')
  })
  const checkFiles = guardFile(path, `${path}-wal`)
  let checkedAt = Number.NEGATIVE_INFINITY
  let isChecked = false
  /** Once per transaction, and within it: SQLite may recreate the -wal file before a transaction begins. */
  function checkFilesOnce(): void {
    if (isChecked) return
    checkFiles()
    isChecked = true
    checkedAt = performance.now()
  }
  const sql = statementCache(db)
  let closed = false

  const writes = groupCommit(path, {
    sql,
    isTransaction: () => db.isTransaction,
    onBegin() {
      isChecked = false
      if (performance.now() - checkedAt > fileCheckMs) checkFilesOnce()
    },
  })

  function write<T>(work: () => T): Promise<T> {
    return closed ? Promise.reject(storeClosedError(url)) : writes.write(work)
  }

  return {
    url,
    path,
    now,
    sql,
    async read(work) {
      return whileBusy(path, () => {
        if (closed) throw storeClosedError(url)
        // open only after a failed rollback: uncommitted data must not be read
        if (db.isTransaction) sql('rollback').run()
        return work()
      })
    },
    write: (work) =>
      write(() => {
        checkFilesOnce()
        return work()
      }),
    writeStep: write,
    async close() {
      if (closed) return
      closed = true
      await writes.idle()
      db.close()
    },
  }
}
