// The store that the crew of a file names for itself, for commands that need only the store. Loading a crew's code
// takes longer than most of these commands, and may do anything. So a file that nobody has named is loaded only where
// its text, or that of a file which it imports from beside it, says something of a store.
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { storePath } from '../../stores/open-store.ts'
import type { Store } from '../../stores/store.ts'
import { UsageError } from '../exit-codes.ts'
import { usualFile } from './usual-file.ts'

/** A usage error when the file cannot be loaded, or its crews are kept in several stores. */
export async function crewStore(named: string | undefined): Promise<string | Store | undefined> {
  const file = named ?? usualFile()
  if (file === undefined || (named === undefined && !mentionsStore(resolve(file), new Set()))) return undefined
  const stores = new Map((await crewsOf(file)).map(({ store }) => [keyOf(store), store]))
  const [first] = stores.values()
  if (stores.size <= 1) return first
  const places = [...stores.values()].map((store) => (typeof store === 'object' ? store.url : (store ?? 'the default')))
  throw new UsageError(`the crews of ${file} are kept in ${places.join(' and in ')}; say which with --store`)
}

/** Whether commands that are not told this file find another, which may name a store. */
export function anotherNamesStore(file: string): boolean {
  try {
    const usual = usualFile()
    return usual !== undefined && resolve(usual) !== resolve(file) && mentionsStore(resolve(usual), new Set())
  } catch {
    // what is wrong with package.json is said by them, unless they are told the store
    return true
  }
}

async function crewsOf(file: string): Promise<{ readonly store: string | Store | undefined }[]> {
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

/** As a member of an object, however that is written: `store: …`, `{ store }`, `["store"]`, `options.store = …`. */
const member = /\bstore["'`]?\s*[:,}=\]]/
const imported = /(?:\bfrom|\bimport)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g

function mentionsStore(path: string, seen: Set<string>): boolean {
  if (seen.has(path)) return false
  seen.add(path)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    // whoever needs the file says that it isn't there
    return false
  }
  if (member.test(text)) return true
  return [...text.matchAll(imported)].some(([, name = '']) => mentionsStore(resolve(dirname(path), name), seen))
}

function keyOf(store: string | Store | undefined): unknown {
  const path = typeof store === 'string' ? storePath(store) : undefined
  return path === undefined ? store : resolve(path)
}
