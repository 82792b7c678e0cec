// Whether anything is where a URL of a store points to, found out without making it there.
import { existsSync } from 'node:fs'
import { storePath } from './open-store.ts'
import type { Store } from './store.ts'

/**
 * What a place is called where nothing is yet, without a password. Undefined when something is there, such as an open
 * store, when only opening it would tell, or when its server is away. STORE_INVALID and STORE_NEWER for one that this
 * code cannot use.
 */
export async function missingStore(url: string | Store): Promise<string | undefined> {
  if (typeof url !== 'string') return undefined
  if (/^postgres(ql)?:/i.test(url)) return (await import('./postgres/inspect.ts')).missingPostgres(url)
  if (/^rediss?:/i.test(url)) return (await import('./redis/inspect.ts')).missingRedis(url)
  const path = storePath(url)
  return path === undefined || existsSync(path) ? undefined : url
}
