// An open database: its one connection, its statements (prepared once), and the two ways to use it. Reads are answered
// at once between commits; writes go through the group commit.
import { dirname } from 'node:path'
import type { StatementSync } from 'node:sqlite'
import { makePrivateFolder } from '../private-folder.ts'
import { storeClosedError } from '../rules/refusals.ts'
import { guardFile } from '../guard-file.ts'
import { whileBusy } from './errors.ts'
import { groupCommit } from './group-commit.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open-database.ts'

/**
 * Twice SQLite's own: of steps of 1 KB (1.4 KB as a line) often only two fit into 4 KB, and the file has twice their
 * size. Counts for a new file; an older one keeps the size that it was made with.
 */
const pageBytes = 8192

export interface Connection {
  readonly url: string
  readonly path: string
  readonly now: () => number
  readonly sql: (text: string) => StatementSync
  /** Synchronous, and one statement: what others commit meanwhile is in all of it or in none. */
  read<T>(work: () => T): Promise<T>
  /**
   * Synchronous, in a shared transaction; resolves when it is on disk. STORE_FAILED when the file was removed or
   * replaced.
   */
  write<T>(work: () => T): Promise<T>
  /** The same for a step, after which others come: whether the file is still there is looked at now and then. */
  writeStep<T>(work: () => T): Promise<T>
  /** Waits for writes under way. Everything after it is refused. */
  close(): Promise<void>
}

/**
 * Steps for so long may go to a file that was removed under us. To look costs two calls of the system, a third of a
 * synced step.
 */
const lookMs = 100

/** STORE_INVALID, STORE_NEWER. `path` is absolute. */
export async function openConnection(path: string, now: () => number): Promise<Connection> {
  const url = `sqlite:${path}`
  await makePrivateFolder(dirname(path))
  const db = await openDatabase(path, (opened) => {
    opened.exec(`pragma page_size = ${pageBytes}; pragma synchronous = full; pragma foreign_keys = on`)
    migrate(opened, path)
    // written into the file, so only once it is known to be ours
    opened.exec('pragma journal_mode = wal')
  })
  const checkFiles = guardFile(path, `${path}-wal`)
  let looked = Number.NEGATIVE_INFINITY
  let isChecked = false
  /** Once in a transaction, before which SQLite may make the file of newest commits anew. */
  function lookAtFiles(): void {
    if (isChecked) return
    checkFiles()
    isChecked = true
    looked = performance.now()
  }
  const statements = new Map<string, StatementSync>()
  let closed = false

  function sql(text: string): StatementSync {
    let statement = statements.get(text)
    if (statement === undefined) {
      statement = db.prepare(text)
      statements.set(text, statement)
    }
    return statement
  }

  const writes = groupCommit(path, {
    sql,
    isTransaction: () => db.isTransaction,
    begun() {
      isChecked = false
      if (performance.now() - looked > lookMs) lookAtFiles()
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
        // Left open only when a rollback failed: what was not committed is not to be read.
        if (db.isTransaction) sql('rollback').run()
        return work()
      })
    },
    write: (work) =>
      write(() => {
        lookAtFiles()
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
