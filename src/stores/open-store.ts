// Opens a store by its URL. Within a process each store is opened once and shared: two connections to one file would
// wait for each other's locks, and a change made through one would reach the watchers of the other only by polling.
import { realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Check, describe } from '../base/options.ts'
import { RepriseError } from '../base/errors.ts'
import { redact } from '../secrets/redact.ts'
import { makePrivateFolder } from './private-folder.ts'
import type { Store } from './store.ts'
import { existsSync } from 'node:fs'

interface SharedStore {
  readonly store: Promise<Store>
  users: number
}
const sharedStores = new Map<string, SharedStore>()

/**
 * Opens `memory:` (always new), `memory:name`, `file:folder`, `sqlite:path`, `postgres://…` or `redis://…`. Returns an
 * open store unchanged. A store that is opened again in this process is shared, and closed when its last user closes
 * it. STORE_INVALID if the URL is unknown or the store cannot be written; STORE_NEWER.
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
      // by the whole URL: another user or password is another connection
      return share(url, async () => (await import('./postgres/store.ts')).postgresStore(url))
    case 'redis':
    case 'rediss':
      return share(url, async () => (await import('./redis/store.ts')).redisStore(url))
    default:
      throw invalidUrl(url, 'Reprise knows no store of this kind')
  }
}

/** STORE_INVALID. */
export const storeCheck: Check<string | Store> = {
  expected: 'a URL, such as sqlite:path/to/runs.db, or an open store: await openStore(…)',
  read(what, value) {
    if (typeof value === 'string' || typeof (value as Partial<Store> | null)?.append === 'function')
      return value as string | Store
    throw new RepriseError('STORE_INVALID', `${what} is ${describe(value)}; give ${storeCheck.expected}`)
  },
}

/** The file or folder of a `sqlite:` or `file:` URL; undefined for any other text. Opens nothing. */
export function storePath(url: string): string | undefined {
  const { scheme, rest } = splitUrl(url)
  return ['sqlite', 'file'].includes(scheme) ? parsePath(url, rest) : undefined
}

/** The scheme in lower case. STORE_INVALID for `sharded:`, which was removed. */
export function splitUrl(url: string): { readonly scheme: string; readonly rest: string } {
  const [, scheme = '', rest = ''] = /^([a-z][a-z+.-]*):(.*)$/is.exec(url) ?? []
  if (scheme.toLowerCase() !== 'sharded') return { scheme: scheme.toLowerCase(), rest }
  throw shardsRemoved('a sharded: store')
}

export function shardsRemoved(what: string): RepriseError {
  const words = `${what} is no longer supported: use one PostgreSQL; see docs/guides/scaling.md`
  return new RepriseError('STORE_INVALID', words)
}

/** Gives each caller its own handle, so that closing it twice doesn't close the store for another caller. */
async function share(key: string, open: () => Store | Promise<Store>): Promise<Store> {
  let shared = sharedStores.get(key)
  if (shared === undefined) {
    shared = { store: Promise.resolve().then(open), users: 0 }
    sharedStores.set(key, shared)
  }
  const entry = shared
  entry.users++
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
  if (rest === '' || rest.startsWith(':')) throw invalidUrl(url, 'it names no path')
  if (!rest.startsWith('//')) return resolve(rest)
  try {
    return fileURLToPath(`file:${rest}`)
  } catch (error) {
    throw invalidUrl(url, 'its path is not on this machine', error)
  }
}

// The real path, so that two paths to one file share one store.
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
 * The URL of a store that doesn't exist yet, without a password. Undefined if it exists, if only opening it would tell,
 * or if its server is unreachable. STORE_INVALID and STORE_NEWER for a store that this code cannot use.
 */
export async function missingStore(url: string | Store): Promise<string | undefined> {
  if (typeof url !== 'string') return undefined
  if (/^postgres(ql)?:/i.test(url)) return (await import('./postgres/inspect.ts')).missingPostgres(url)
  if (/^rediss?:/i.test(url)) return (await import('./redis/inspect.ts')).missingRedis(url)
  const path = storePath(url)
  return path === undefined || existsSync(path) ? undefined : url
}
