// Opening a database file, and noticing its removal: what this store and the lease table of a folder have in common.
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { createPrivateFile } from '../private-folder.ts'
import { storeError, whileBusy } from './errors.ts'
import { statSync } from 'node:fs'
import { RepriseError } from '../../base/errors.ts'

/**
 * `prepare` brings it up to date; when it throws, the file is closed again. STORE_INVALID, and what `prepare` throws.
 */
export function openDatabase(path: string, prepare: (db: DatabaseSync) => void): Promise<DatabaseSync> {
  return whileBusy(path, () => {
    let db: DatabaseSync | undefined
    try {
      createPrivateFile(path)
      // No waiting inside SQLite: it would stop the event loop.
      db = new DatabaseSync(path, { timeout: 0 })
      prepare(db)
      return db
    } catch (error) {
      db?.close()
      throw openError(error, path)
    }
  })
}

function openError(error: unknown, path: string): unknown {
  const code = (error as NodeJS.ErrnoException).code
  // Made to look like SQLite's own "cannot open": a file system's refusal is worth the same advice.
  if (code !== undefined && code.startsWith('E') && !code.startsWith('ERR_')) {
    return storeError(Object.assign(new Error((error as Error).message), { errcode: 14 }), path)
  }
  return error
}

/**
 * Remembers a file that this process has just opened: if it is removed or replaced, its handle stays open, but writes
 * no longer reach any path. The returned check throws STORE_FAILED once the path leads to another file or none.
 * `companion`, such as a -wal file, is remembered at the first check that finds it.
 */
export function guardFile(path: string, companion?: string): () => void {
  const first = new Map([[path, fileIdentity(path)]])
  return () => {
    for (const [name, before] of first) if (fileIdentity(name) !== before) throw replacedError(name)
    if (companion === undefined || first.has(companion)) return
    const identity = fileIdentity(companion)
    if (identity !== undefined) first.set(companion, identity)
  }
}

function fileIdentity(path: string): string | undefined {
  // not opened: closing a file drops the locks that this process has on it
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && `${stats.dev} ${stats.ino}`
}

function replacedError(path: string): RepriseError {
  return new RepriseError(
    'STORE_FAILED',
    `${path} was removed or replaced while this process had it open; nothing more was written: restore the file if its runs are still needed, and restart the process`,
  )
}

/** Prepares each statement once. */
export function statementCache(db: DatabaseSync): (text: string) => StatementSync {
  const statements = new Map<string, StatementSync>()
  return (text) => {
    const statement = statements.get(text) ?? db.prepare(text)
    statements.set(text, statement)
    return statement
  }
}
