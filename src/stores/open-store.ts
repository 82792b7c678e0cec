// Opens a store by its URL. Within a process each store is opened once and shared: two connections to one file would
// wait for each other's locks, and a change made through one would reach the watchers of the other only by polling.
import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Check, describe } from '../base/options.ts'
import { RepriseError } from '../base/errors.ts'
import { redact } from '../secrets/redact.ts'
import { makePrivateFolder } from './private-folder.ts'
import type { Store } from './store.ts'

interface SharedStore {
  readonly store: Promise<Store>
  users: number
}
const sharedStores = new Map<string, SharedStore>()

/**
 * Opens `memory:` (always new), `memory:name`, `file:folder`, `sqlite:path`, `postgres://…` or `redis://…`. Returns an
 * open store unchanged. Stores are shared within the process: the last user to close one closes it. Rejects with
 * STORE_INVALID if the URL is invalid or the store cannot be written, and with STORE_NEWER if only newer code may write
 * it.
 */
export async function openStore(url: string | Store): Promise<Store> {
  storeCheck.read('the store', url)
  if (typeof url !== 'string') return url
  const { scheme, rest } = splitUrl(url)
  switch (scheme) {
    case 'memory': {
      const { memoryStore } = await import('./memory/store.ts')
      return rest === '' ? memoryStore() : share(`memory:${rest}`, () => memoryStore({ url: `memory:${rest}` }))
    }
    case 'sqlite': {
      const path = await realFile(parsePath(url, rest))
      return share(`sqlite:${path}`, async () => (await import('./sqlite/store.ts')).sqliteStore(path))
    }
    case 'file': {
      const folder = await realFolder(parsePath(url, rest))
      return share(`file:${folder}`, async () => (await import('./file/store.ts')).fileStore(folder))
    }
    case 'postgres':
    case 'postgresql':
      // shared by the whole URL: another user or password needs another connection
      return share(url, async () => (await import('./postgres/store.ts')).postgresStore(url))
    case 'redis':
    case 'rediss':
      return share(url, async () => (await import('./redis/store.ts')).redisStore(url))
    default:
      throw invalidUrl(url, "it isn't the URL of a store")
  }
}

/** Accepts a URL or an open store, and throws STORE_INVALID for any other value. */
export const storeCheck: Check<string | Store> = {
  expected: 'a URL, such as sqlite:path/to/runs.db, or an open store: await openStore(…)',
  read(what, value) {
    if (typeof value === 'string' || typeof (value as Partial<Store> | null)?.append === 'function')
      return value as string | Store
    throw new RepriseError('STORE_INVALID', `${what} is ${describe(value)}; pass ${storeCheck.expected}`)
  },
}

/**
 * Returns the path in a `sqlite:` or `file:` URL, and undefined for other URLs. Opens nothing. Throws STORE_INVALID if
 * the path is invalid.
 */
export function storePath(url: string): string | undefined {
  const { scheme, rest } = splitUrl(url)
  return ['sqlite', 'file'].includes(scheme) ? parsePath(url, rest) : undefined
}

/** Splits a URL after its scheme, which is returned in lower case. Throws STORE_INVALID for `sharded:`. */
export function splitUrl(url: string): { readonly scheme: string; readonly rest: string } {
  const [, scheme = '', rest = ''] = /^([a-z][a-z+.-]*):(.*)$/is.exec(url) ?? []
  if (scheme.toLowerCase() !== 'sharded') return { scheme: scheme.toLowerCase(), rest }
  throw shardsRemoved('a sharded: store')
}

export function shardsRemoved(what: string): RepriseError {
  const words = `${what} is no longer supported: use one PostgreSQL; see docs/guides/scaling.md`
  return new RepriseError('STORE_INVALID', words)
}

/** Returns a handle of its own to each caller: closing a handle twice doesn't close the store for other callers. */
async function share(key: string, open: () => Store | Promise<Store>): Promise<Store> {
  let shared = sharedStores.get(key)
  if (shared === undefined) {
    shared = { store: Promise.resolve().then(open), users: 0 }
    sharedStores.set(key, shared)
  }
  const entry = shared
  entry.users++
  /** Returns whether this was the last user. */
  function leave(): boolean {
    entry.users--
    if (entry.users > 0) return false
    if (sharedStores.get(key) === entry) sharedStores.delete(key)
    return true
  }
  try {
    const store = await entry.store
    let inUse = true
    return {
      ...store,
      async close() {
        if (!inUse) return
        inUse = false
        if (leave()) await store.close()
      },
    }
  } catch (error) {
    leave()
    throw error
  }
}

function parsePath(url: string, rest: string): string {
  if (rest === '' || rest.startsWith(':')) throw invalidUrl(url, 'it has no path')
  if (!rest.startsWith('//')) return resolve(rest)
  try {
    return fileURLToPath(`file:${rest}`)
  } catch (error) {
    throw invalidUrl(url, 'its path is not on this machine', error)
  }
}

// The real folder, so that two paths that lead to it share one store. A link to the file itself isn't resolved.
async function realFolder(folder: string): Promise<string> {
  await makePrivateFolder(folder)
  return realpath(folder)
}

async function realFile(path: string): Promise<string> {
  return join(await realFolder(dirname(path)), basename(path))
}

function invalidUrl(url: string, why: string, cause?: unknown): RepriseError {
  return new RepriseError(
    'STORE_INVALID',
    `"${redact(url)}" cannot be opened as a store: ${why}. Use sqlite:path/to/runs.db, file:path/to/folder, postgres://user@host/database, redis://host:6379/0 or memory:`,
    { cause },
  )
}

/**
 * Returns the URL of the store, without the password, if the store doesn't exist yet. Undefined if it exists, if `url`
 * is an open store or `memory:`, or if the server is unreachable. Rejects with STORE_INVALID if the URL is invalid or
 * the server cannot be used, and with STORE_NEWER if only newer code may write the schema in PostgreSQL.
 */
export async function missingStore(url: string | Store): Promise<string | undefined> {
  if (typeof url !== 'string') return undefined
  if (/^postgres(ql)?:/i.test(url)) return (await import('./postgres/inspect.ts')).missingPostgres(url)
  if (/^rediss?:/i.test(url)) return (await import('./redis/inspect.ts')).missingRedis(url)
  const path = storePath(url)
  return path === undefined || existsSync(path) ? undefined : url
}
