// Checks whether the store that a URL names exists, without creating it.
import { existsSync } from 'node:fs'
import { storePath } from './open-store.ts'
import type { Store } from './store.ts'

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
