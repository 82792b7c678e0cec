// Opening a database file: what the store of that name and the lease table of a folder have in common.
import { DatabaseSync } from 'node:sqlite'
import { createPrivateFile } from '../private-folder.ts'
import { storeError, whileBusy } from './errors.ts'

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
