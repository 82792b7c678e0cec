// For those who open stores by hand or write their own. The drivers are loaded when first used: a program that keeps
// its runs elsewhere never loads node:sqlite.
import '../base/node-version.ts'
import type { FileStoreOptions } from './file/store.ts'
import { openStore } from './open-store.ts'
import type { PostgresStoreOptions } from './postgres/store.ts'
import type { RedisStoreOptions } from './redis/store.ts'
import type { SqliteStoreOptions } from './sqlite/store.ts'
import type { Store } from './store.ts'

export { openStore }
export { memoryStore, type MemoryStoreOptions } from './memory/store.ts'
export { describeOwner, isOwnerDead, sameOwner, currentOwner } from './owner.ts'
export type * from './store.ts'
export type { FileStoreOptions, PostgresStoreOptions, RedisStoreOptions, SqliteStoreOptions }

/** Opens a SQLite database, making it and its folder when missing. STORE_INVALID, STORE_NEWER. */
export async function sqliteStore(path: string, options?: SqliteStoreOptions): Promise<Store> {
  const driver = await import('./sqlite/store.ts')
  return driver.sqliteStore(path, options)
}

/** Opens a folder of one JSON-lines file per run, making it when missing. STORE_INVALID. */
export async function fileStore(folder: string, options?: FileStoreOptions): Promise<Store> {
  const driver = await import('./file/store.ts')
  return driver.fileStore(folder, options)
}

/**
 * Opens a schema of a PostgreSQL database, making it when missing. Needs the package pg. A server that is away is no
 * reason not to: calls reject with STORE_UNAVAILABLE until it is back. STORE_INVALID, STORE_NEWER.
 */
export async function postgresStore(url: string, options?: PostgresStoreOptions): Promise<Store> {
  const driver = await import('./postgres/store.ts')
  return driver.postgresStore(url, options)
}

/**
 * Opens a Redis or valkey server. Needs the package redis. A server that is away is no reason not to: calls reject with
 * STORE_UNAVAILABLE until it is back. STORE_INVALID, STORE_NEWER.
 */
export async function redisStore(url: string, options?: RedisStoreOptions): Promise<Store> {
  const driver = await import('./redis/store.ts')
  return driver.redisStore(url, options)
}

/** @deprecated Removed: use one PostgreSQL. STORE_INVALID, which says so. */
export const shardedStore = (..._stores: readonly unknown[]): Promise<Store> => openStore('sharded:')
