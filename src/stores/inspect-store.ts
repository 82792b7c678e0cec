// Looking at the place of a store without opening it as one: nothing is made, brought up to date or left behind.
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { messageOf } from '../base/errors.ts'
import { formatNumber as fileFormat, readLayout as fileLayout } from './file/lease-database.ts'
import { leasesName } from './file/file-names.ts'
import { formatNumber as sqliteFormat, layoutOf as sqliteLayout } from './sqlite/migrate.ts'

export interface StoreInspection {
  readonly exists: boolean
  /** Why it cannot be written, or be made where it is not there; undefined when it can. */
  readonly unwritable: string | undefined
  readonly bytes: number
  /** The number of its layout, and of the one that this code writes; undefined when it is not there or not ours. */
  readonly layout: number | undefined
  readonly newest: number
}

/**
 * Of a path that `storePath` gave for this scheme. Rejects with what the file system or SQLite says when it cannot be
 * read at all, and with STORE_INVALID when another build made it.
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
  // not read-only: a connection like that leaves its -wal and -shm files behind
  const db = new DatabaseSync(path, { timeout: 1_000 })
  try {
    return scheme === 'sqlite' ? sqliteLayout(db, path) : fileLayout(db, path)
  } finally {
    db.close()
  }
}

function whyUnwritable(files: readonly string[], folder: string): string | undefined {
  try {
    // the dot is there only in a folder
    for (const place of [...files, `${folder}/.`]) accessSync(place, constants.W_OK)
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
