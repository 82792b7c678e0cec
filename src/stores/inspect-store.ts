// Inspects a SQLite or file store without opening it: creates nothing, migrates nothing, leaves no files behind.
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { messageOf } from '../base/errors.ts'
import { formatNumber as fileFormat, readLayout as fileLayout } from './file/lease-database.ts'
import { leasesName } from './file/file-names.ts'
import { formatNumber as sqliteFormat, layoutOf as sqliteLayout } from './sqlite/open-database.ts'

export interface StoreInspection {
  readonly exists: boolean
  /** Why the store cannot be written, or created if missing; undefined if it can. */
  readonly unwritable: string | undefined
  readonly bytes: number
  /** The store's layout number; undefined if it is missing or not a Reprise store. */
  readonly layout: number | undefined
  /** The layout number that this code writes. */
  readonly newest: number
}

/**
 * Inspects the store at `path`, which `storePath` returned. Rejects with the error of the file system or SQLite if the
 * path cannot be read, and with STORE_INVALID if an incompatible build created the store.
 */
export async function inspectStore(scheme: 'sqlite' | 'file', path: string): Promise<StoreInspection> {
  const newest = scheme === 'sqlite' ? sqliteFormat : fileFormat
  const exists = existsSync(path)
  const folder = scheme === 'sqlite' ? dirname(path) : path
  const unwritable = whyUnwritable(exists && scheme === 'sqlite' ? [path] : [], nearestFolder(folder))
  if (!exists) return { exists, unwritable, bytes: 0, layout: undefined, newest }
  const database = scheme === 'sqlite' ? path : join(path, leasesName)
  const layout = existsSync(database) ? await readLayout(scheme, database) : undefined
  return { exists, unwritable, bytes: storeBytes(scheme, path), layout, newest }
}

async function readLayout(scheme: 'sqlite' | 'file', path: string): Promise<number | undefined> {
  const { DatabaseSync } = await import('node:sqlite')
  // not read-only: a read-only connection leaves its -wal and -shm files behind
  const db = new DatabaseSync(path, { timeout: 1_000 })
  try {
    return scheme === 'sqlite' ? sqliteLayout(db, path) : fileLayout(db, path)
  } finally {
    db.close()
  }
}

function whyUnwritable(files: readonly string[], folder: string): string | undefined {
  try {
    // `/.` makes the check fail if the path isn't a folder
    for (const path of [...files, `${folder}/.`]) accessSync(path, constants.W_OK)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

function nearestFolder(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : nearestFolder(dirname(path))
}

function storeBytes(scheme: 'sqlite' | 'file', path: string): number {
  const files =
    scheme === 'sqlite'
      ? [path, `${path}-wal`].filter((file) => existsSync(file))
      : readdirSync(path, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name))
  return files.reduce((sum, file) => sum + statSync(file).size, 0)
}
