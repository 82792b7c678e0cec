// For programs that open stores themselves or implement their own. A driver is loaded when first used: a program that
// uses another store never loads node:sqlite.
import '../base/node-version.ts'
import type { FileStoreOptions } from './file/store.ts'
import { openStore, shardsRemoved } from './open-store.ts'
import type { PostgresStoreOptions } from './postgres/store.ts'
import type { RedisStoreOptions } from './redis/store.ts'
import type { SqliteStoreOptions } from './sqlite/store.ts'
import type { Store } from './store.ts'

export { openStore }
export { memoryStore } from './memory/store.ts'
export { describeOwner, isOwnerDead, sameOwner, currentOwner } from './owner.ts'
export type {
  Batch,
  ClaimLimits,
  Lane,
  Lease,
  Line,
  Message,
  Owner,
  ReadyRun,
  RunFilter,
  RunRow,
  Store,
} from './store.ts'

/** Opens a SQLite database, creating it and its folder if missing. STORE_INVALID, STORE_NEWER. */
export async function sqliteStore(path: string, options?: SqliteStoreOptions): Promise<Store> {
  const driver = await import('./sqlite/store.ts')
  return driver.sqliteStore(path, options)
}

/** Opens a folder with one JSON Lines file per run, creating it if missing. STORE_INVALID, STORE_NEWER. */
export async function fileStore(folder: string, options?: FileStoreOptions): Promise<Store> {
  const driver = await import('./file/store.ts')
  return driver.fileStore(folder, options)
}

/**
 * Opens a schema of a PostgreSQL database, creating it if missing. Needs the package pg. Succeeds even if the server is
 * unreachable: calls then reject with STORE_UNAVAILABLE until it is back. STORE_INVALID, STORE_NEWER.
 */
export async function postgresStore(url: string, options?: PostgresStoreOptions): Promise<Store> {
  const driver = await import('./postgres/store.ts')
  return driver.postgresStore(url, options)
}

/**
 * Opens a Redis or Valkey server. Needs the package redis. Succeeds even if the server is unreachable: calls then
 * reject with STORE_UNAVAILABLE until it is back. STORE_INVALID, STORE_NEWER.
 */
export async function redisStore(url: string, options?: RedisStoreOptions): Promise<Store> {
  const driver = await import('./redis/store.ts')
  return driver.redisStore(url, options)
}

/**
 * Throws STORE_INVALID, with the replacement.
 *
 * @deprecated Removed: use one PostgreSQL.
 */
export function shardedStore(..._given: readonly unknown[]): never {
  throw shardsRemoved('shardedStore')
}
