// Opens the command's store: `--store`, else the store that the crew's file names, else REPRISE_STORE, else the default
// beside package.json. Loading a crew's code takes longer than most commands that need only its store, and may have
// side effects. So a file that was found by default is loaded only if its text, or that of a file it imports by a
// relative path, mentions a store.
import { resolve, dirname } from 'node:path'
import { defaultStoreUrl } from '../../crew/open-crew.ts'
import { openRuns as openRunsOf, type Runs } from '../../crew/open-runs.ts'
import { environment } from '../../base/environment.ts'
import { RepriseError, messageOf } from '../../base/errors.ts'
import { missingStore as missingStoreAt, storePath } from '../../stores/open-store.ts'
import { shortWaitMs } from '../../stores/patient-store.ts'
import type { Store } from '../../stores/store.ts'
import { UsageError } from '../exit-codes.ts'
import type { Terminal } from '../output/terminal.ts'
import { isMemory, type Commands, type StoreLocation } from '../write-command.ts'
import { readFileSync } from 'node:fs'
import { usualFile } from './usual-file.ts'

/** The options of a command that needs only a store. */
interface StoreOptions {
  readonly store?: string
  readonly file?: string
}

interface StoreCall {
  readonly options: StoreOptions
  readonly commands?: Commands
  /** Gets a warning while the store is away. Without a terminal, the command doesn't wait for the store. */
  readonly terminal?: Pick<Terminal, 'err'>
}

/** Opens the store for commands that read runs. Rejects with RUN_NOT_FOUND if the store does not exist. */
export async function openRuns(call: StoreCall): Promise<Runs> {
  const place = await commandStore(call)
  await checkRuns(place)
  return openRunsAt(place, call)
}

/** Returns undefined if the store does not exist: listing runs must not create an empty one. */
export async function openExistingRuns(call: StoreCall): Promise<Runs | undefined> {
  const place = await commandStore(call)
  return (await missingStore(place)) === undefined ? openRunsAt(place, call) : undefined
}

/** Opens the store for commands that add runs. Creates it if it is missing. */
export async function openOrCreateStore(call: StoreCall): Promise<Runs> {
  return openRunsAt(await commandStore(call), call)
}

/** Returns the URL of the store without opening it. Rejects with a UsageError if the crew's store is an object. */
export async function commandStoreUrl(call: StoreCall): Promise<string> {
  const place = await commandStore(call)
  if (typeof place !== 'object') return storeUrl(place)
  throw new UsageError(`the crew opens its store ${place.url} in code; name the store with --store`)
}

/**
 * Returns the store for the studio, which opens it. Rejects with RUN_NOT_FOUND for a file or folder that does not exist
 * and was not named with --store: it is likely the wrong one. A server may be empty until the first worker starts.
 */
export async function studioStore(call: StoreCall): Promise<string | Store | undefined> {
  const place = await commandStore(call)
  const named = call.options.store !== undefined
  if (!named && typeof place !== 'object' && storePath(storeUrl(place)) !== undefined) await checkRuns(place)
  return place
}

/**
 * Returns the store of `--store` or of the crew's file; undefined if the environment or the default decides. Makes
 * printed commands find the same store.
 */
async function commandStore({ options, commands }: StoreCall): Promise<string | Store | undefined> {
  if (options.store !== undefined) return options.store
  const found = await crewStore(options.file)
  commands?.setStore(locateStore(found, options.file))
  return found
}

async function openRunsAt(place: string | Store | undefined, { terminal }: StoreCall): Promise<Runs> {
  const warn = (message: string): void => terminal?.err.line(`warning: ${message}`)
  return openRunsOf(place, { limitMs: terminal ? shortWaitMs : 0, onOutage: warn })
}

export function noRunsYet(place: string): RepriseError {
  return new RepriseError('RUN_NOT_FOUND', `there are no runs in ${place} yet`, { next: { type: 'kickoff' } })
}

/** For commands that continue or fork a run: rejects with RUN_NOT_FOUND if the store does not exist. Creates none. */
export async function checkRuns(given: string | Store | undefined): Promise<void> {
  const missing = await missingStore(given)
  if (missing !== undefined) throw noRunsYet(missing)
}

function storeUrl(store: string | undefined): string {
  return store ?? environment().store ?? defaultStoreUrl(process.cwd())
}

/**
 * Returns how printed commands that don't load the crew's file find its store; undefined if they find it by themselves.
 * `store` is the crew's own, `file` what this call was given.
 */
export function locateStore(store: string | Store | undefined, file: string | undefined): StoreLocation | undefined {
  const url = typeof store === 'object' ? store.url : storeUrl(store)
  if (isMemory(url)) return 'memory'
  const path = storePath(url)
  // a custom store, which only the crew's file can open, or a server, whose URL may contain a password
  if (path === undefined) return typeof store === 'object' || url !== storeUrl(undefined) ? 'file' : undefined
  const found = storePath(storeUrl(undefined))
  const sameByDefault = found !== undefined && resolve(found) === resolve(path)
  return sameByDefault && (file === undefined || !anotherNamesStore(file)) ? undefined : { store: url }
}

/**
 * Returns the store's URL, without a password, if the store does not exist yet. Rejects with STORE_INVALID or
 * STORE_NEWER if this code cannot use it.
 */
export async function missingStore(store: string | Store | undefined): Promise<string | undefined> {
  return missingStoreAt(typeof store === 'object' ? store : storeUrl(store))
}

/**
 * Returns the store that the file's crews name, if any. Rejects with a UsageError if the file cannot be loaded, or if
 * its crews have several stores.
 */
async function crewStore(named: string | undefined): Promise<string | Store | undefined> {
  const file = named ?? usualFile()
  if (file === undefined || (named === undefined && !mentionsStore(resolve(file), new Set()))) return undefined
  const stores = new Map((await loadStoreCrews(file)).map(({ store }) => [storeKey(store), store]))
  const [first] = stores.values()
  if (stores.size <= 1) return first
  const places = [...stores.values()].map((store) => (typeof store === 'object' ? store.url : (store ?? 'the default')))
  throw new UsageError(`the crews of ${file} are kept in ${places.join(' and in ')}; choose one with --store`)
}

/** Whether commands without this file would load another file, which may name a store. */
function anotherNamesStore(file: string): boolean {
  try {
    const usual = usualFile()
    return usual !== undefined && resolve(usual) !== resolve(file) && mentionsStore(resolve(usual), new Set())
  } catch {
    // package.json is invalid: those commands report that, unless they get --store
    return true
  }
}

async function loadStoreCrews(file: string): Promise<{ readonly store: string | Store | undefined }[]> {
  const { loadCrews } = await import('./load-crew.ts')
  try {
    return await loadCrews(file)
  } catch (error) {
    const words = `${messageOf(error)}; or name the store with --store, to run the command without that file`
    throw new UsageError(words, {
      ...(error instanceof UsageError && error.code !== 'USAGE' ? { code: error.code } : {}),
      cause: error instanceof UsageError ? error.cause : error,
    })
  }
}

/** Matches a member of an object: `store: …`, `{ store }`, `["store"]`, `options.store = …`. */
const storeMember = /\bstore["'`]?\s*[:,}=\]]/
const relativeImports = /(?:\bfrom|\bimport)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g

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
  if (storeMember.test(text)) return true
  return [...text.matchAll(relativeImports)].some(([, name = '']) => mentionsStore(resolve(dirname(path), name), seen))
}

function storeKey(store: string | Store | undefined): unknown {
  const path = typeof store === 'string' ? storePath(store) : undefined
  return path === undefined ? store : resolve(path)
}
