// The store that a crew's file names, for commands that need only the store. Loading a crew's code takes longer than
// most of these commands, and may have side effects. So a file that was found by default is loaded only if its text, or
// that of a file it imports by a relative path, mentions a store.
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { storePath } from '../../stores/open-store.ts'
import type { Store } from '../../stores/store.ts'
import { UsageError } from '../exit-codes.ts'
import { usualFile } from './usual-file.ts'

/** A usage error if the file cannot be loaded, or its crews have several stores. */
export async function crewStore(named: string | undefined): Promise<string | Store | undefined> {
  const file = named ?? usualFile()
  if (file === undefined || (named === undefined && !mentionsStore(resolve(file), new Set()))) return undefined
  const stores = new Map((await loadStoreCrews(file)).map(({ store }) => [storeKey(store), store]))
  const [first] = stores.values()
  if (stores.size <= 1) return first
  const places = [...stores.values()].map((store) => (typeof store === 'object' ? store.url : (store ?? 'the default')))
  throw new UsageError(`the crews of ${file} are kept in ${places.join(' and in ')}; say which with --store`)
}

/** Whether commands without this file would load another file, which may name a store. */
export function anotherNamesStore(file: string): boolean {
  try {
    const usual = usualFile()
    return usual !== undefined && resolve(usual) !== resolve(file) && mentionsStore(resolve(usual), new Set())
  } catch {
    // those commands report what is wrong with package.json, unless they get --store
    return true
  }
}

async function loadStoreCrews(file: string): Promise<{ readonly store: string | Store | undefined }[]> {
  const { loadCrews } = await import('./load-crew.ts')
  try {
    return await loadCrews(file)
  } catch (error) {
    const words = `${messageOf(error)}; or, since it may name the store, name that with --store`
    throw new UsageError(words, {
      ...(error instanceof UsageError && error.code !== 'USAGE' ? { code: error.code } : {}),
      cause: error instanceof UsageError ? error.cause : error,
    })
  }
}

/** A member of an object, however it is written: `store: …`, `{ store }`, `["store"]`, `options.store = …`. */
const member = /\bstore["'`]?\s*[:,}=\]]/
const imported = /(?:\bfrom|\bimport)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g

function mentionsStore(path: string, seen: Set<string>): boolean {
  if (seen.has(path)) return false
  seen.add(path)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    // loading the file reports that it is missing
    return false
  }
  if (member.test(text)) return true
  return [...text.matchAll(imported)].some(([, name = '']) => mentionsStore(resolve(dirname(path), name), seen))
}

function storeKey(store: string | Store | undefined): unknown {
  const path = typeof store === 'string' ? storePath(store) : undefined
  return path === undefined ? store : resolve(path)
}
