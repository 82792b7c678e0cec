// `reprise/stores`: for programs that open stores themselves or implement their own. Each driver is imported on first
// use, so a program that uses only PostgreSQL never loads node:sqlite.
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

/**
 * Opens a SQLite database, creating it and its folder if missing. Rejects with STORE_INVALID if it cannot be opened or
 * written, and with STORE_NEWER if only newer code may write it.
 */
export async function sqliteStore(path: string, options?: SqliteStoreOptions): Promise<Store> {
  const driver = await import('./sqlite/store.ts')
  return driver.sqliteStore(path, options)
}

/**
 * Opens a folder with one JSON Lines file per run, creating it if missing. Rejects with STORE_INVALID if it cannot be
 * opened or written, and with STORE_NEWER if only newer code may write it.
 */
export async function fileStore(folder: string, options?: FileStoreOptions): Promise<Store> {
  const driver = await import('./file/store.ts')
  return driver.fileStore(folder, options)
}

/**
 * Opens a schema of a PostgreSQL database, creating it if missing. Needs the package pg. Succeeds even if the server is
 * unreachable: calls then reject with STORE_UNAVAILABLE until it is back. Rejects with STORE_INVALID if the URL is
 * invalid or the database cannot be used, and with STORE_NEWER if only newer code may write it.
 */
export async function postgresStore(url: string, options?: PostgresStoreOptions): Promise<Store> {
  const driver = await import('./postgres/store.ts')
  return driver.postgresStore(url, options)
}

/**
 * Opens a Redis or Valkey server. Needs the package redis. Succeeds even if the server is unreachable: calls then
 * reject with STORE_UNAVAILABLE until it is back. Rejects with STORE_INVALID if the URL is invalid or the server cannot
 * keep journals, and with STORE_NEWER if only newer code may write the store.
 */
export async function redisStore(url: string, options?: RedisStoreOptions): Promise<Store> {
  const driver = await import('./redis/store.ts')
  return driver.redisStore(url, options)
}

/**
 * Always throws STORE_INVALID, which names the replacement: sharded stores were removed.
 *
 * @deprecated Use one PostgreSQL database.
 */
export function shardedStore(..._arguments: readonly unknown[]): never {
  throw shardsRemoved('shardedStore')
}
