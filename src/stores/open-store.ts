// From a URL to a store. Within one process the same place is opened once and shared: two connections to one file would
// wait for each other's locks, and a change made through one would reach the watchers of the other only by polling.
import { realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Check } from '../base/checks.ts'
import { RepriseError } from '../base/errors.ts'
import { describe } from '../base/options.ts'
import { redact } from '../secrets/redact.ts'
import { makePrivateFolder } from './private-folder.ts'
import type { Store } from './store.ts'

interface Shared {
  readonly store: Promise<Store>
  users: number
}
const shared = new Map<string, Shared>()

/**
 * Opens `memory:` (always new), `memory:name`, `file:folder`, `sqlite:path`, `postgres://…` or `redis://…`; an open
 * store is returned as it is. The same place opened again in this process is the same store, closed for real by the
 * last caller that closes it. STORE_INVALID when the URL is not known or the place cannot be written; STORE_NEWER.
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
      // by its whole URL: another user or password is another connection
      return share(url, async () => (await import('./postgres/store.ts')).postgresStore(url))
    case 'redis':
    case 'rediss':
      return share(url, async () => (await import('./redis/store.ts')).redisStore(url))
    default:
      throw invalidUrl(url, 'it is not a store that Reprise knows')
  }
}

/** STORE_INVALID for anything else. */
export const storeCheck: Check<string | Store> = {
  expected: 'a URL, such as sqlite:path/to/runs.db, or an open store: await openStore(…)',
  read(what, value) {
    if (typeof value === 'string' || typeof (value as Partial<Store> | null)?.append === 'function')
      return value as string | Store
    throw new RepriseError('STORE_INVALID', `${what} is ${describe(value)}; give ${storeCheck.expected}`)
  },
}

/**
 * The file or folder that a URL names; undefined where it names none (`memory:`), or isn't the URL of a store. Nothing
 * is opened.
 */
export function storePath(url: string): string | undefined {
  const { scheme, rest } = splitUrl(url)
  return ['sqlite', 'file'].includes(scheme) ? parsePath(url, rest) : undefined
}

/** The scheme in lower case. STORE_INVALID for `sharded:`, which was removed. */
export function splitUrl(url: string): { readonly scheme: string; readonly rest: string } {
  const [, scheme = '', rest = ''] = /^([a-z][a-z+.-]*):(.*)$/is.exec(url) ?? []
  if (scheme.toLowerCase() !== 'sharded') return { scheme: scheme.toLowerCase(), rest }
  const words = 'a sharded: store is not supported any more: use one PostgreSQL; see docs/guides/scaling.md'
  throw new RepriseError('STORE_INVALID', words)
}

/** Each caller gets a handle of its own, so that closing twice does not close the store under somebody else. */
async function share(key: string, open: () => Store | Promise<Store>): Promise<Store> {
  let entry = shared.get(key)
  if (entry === undefined) {
    entry = { store: Promise.resolve().then(open), users: 0 }
    shared.set(key, entry)
  }
  const mine = entry
  mine.users++
  function leave(): boolean {
    mine.users--
    if (mine.users > 0) return false
    if (shared.get(key) === mine) shared.delete(key)
    return true
  }
  try {
    const store = await mine.store
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
    throw invalidUrl(url, 'its path is not one of this machine', error)
  }
}

// By its real name, so that two ways to one file share one store.
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
