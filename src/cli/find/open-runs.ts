// Opens the command's store: `--store`, else the store that the crew's file names, else REPRISE_STORE, else the default
// beside package.json. Loading a crew's code takes longer than most commands that need only its store, and may have
// side effects. So a file that was found by default is loaded only if its text, or that of a file it imports by a
// relative path, mentions a store.
import { resolve, dirname } from 'node:path'
import { defaultStoreUrl, openCrewStore } from '../../crew/open-crew.ts'
import type { Engine } from '../../engine/definition.ts'
import { realWorld, openEngine } from '../../engine/world.ts'
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

type OpenEngine = Engine & AsyncDisposable

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

/** For commands that read runs. RUN_NOT_FOUND if the store does not exist. */
export async function openRuns(call: StoreCall): Promise<OpenEngine> {
  const place = await commandStore(call)
  await checkRuns(place)
  return openPlace(place, call)
}

/** Undefined if the store does not exist: listing must not leave an empty store in every folder. */
export async function openExistingRuns(call: StoreCall): Promise<OpenEngine | undefined> {
  const place = await commandStore(call)
  return (await missingStore(place)) === undefined ? openPlace(place, call) : undefined
}

/** For commands that add runs: the store is created if missing. */
export async function openOrCreateStore(call: StoreCall): Promise<OpenEngine> {
  return openPlace(await commandStore(call), call)
}

/** The URL of the store, which is not opened. A usage error if the crew's store is an object. */
export async function commandStoreUrl(call: StoreCall): Promise<string> {
  const place = await commandStore(call)
  if (typeof place !== 'object') return storeUrl(place)
  throw new UsageError(`the crew opens its store ${place.url} in code; name the store with --store`)
}

/**
 * For the studio, which opens the store itself and may be started before the first worker. RUN_NOT_FOUND for a default
 * file or folder that does not exist: it is likely the wrong one.
 */
export async function studioStore(call: StoreCall): Promise<string | Store | undefined> {
  const place = await commandStore(call)
  const named = call.options.store !== undefined
  if (!named && typeof place !== 'object' && storePath(storeUrl(place)) !== undefined) await checkRuns(place)
  return place
}

/** Undefined if the environment or the default decides. Commands printed from now on name the same store. */
async function commandStore({ options, commands }: StoreCall): Promise<string | Store | undefined> {
  if (options.store !== undefined) return options.store
  const found = await crewStore(options.file)
  commands?.setStore(locateStore(found, options.file))
  return found
}

async function openPlace(place: string | Store | undefined, { terminal }: StoreCall): Promise<OpenEngine> {
  const tell = (told: string): void => terminal?.err.line(`warning: ${told}`)
  const store = await openCrewStore(place)
  const engine = openEngine(store, realWorld(), { limitMs: terminal ? shortWaitMs : 0, onOutage: tell })
  return { ...engine, [Symbol.asyncDispose]: () => store.close() }
}

export function noRunsYet(place: string): RepriseError {
  return new RepriseError('RUN_NOT_FOUND', `there are no runs in ${place} yet`, { next: { type: 'kickoff' } })
}

/** For commands that continue or fork a run. RUN_NOT_FOUND, before a store is created. */
export async function checkRuns(given: string | Store | undefined): Promise<void> {
  const missing = await missingStore(given)
  if (missing !== undefined) throw noRunsYet(missing)
}

function storeUrl(store: string | undefined): string {
  return store ?? environment().store ?? defaultStoreUrl(process.cwd())
}

/**
 * How printed commands that don't load the crew's file find its store, if they would use another one. `store` is what
 * the crew names, `file` what this call was given.
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

/** The name of a store that does not exist yet. STORE_INVALID. */
export async function missingStore(store: string | Store | undefined): Promise<string | undefined> {
  return missingStoreAt(typeof store === 'object' ? store : storeUrl(store))
}

/** The store that the file names. A usage error if the file cannot be loaded, or its crews have several stores. */
async function crewStore(named: string | undefined): Promise<string | Store | undefined> {
  const file = named ?? usualFile()
  if (file === undefined || (named === undefined && !mentionsStore(resolve(file), new Set()))) return undefined
  const stores = new Map((await loadStoreCrews(file)).map(({ store }) => [storeKey(store), store]))
  const [first] = stores.values()
  if (stores.size <= 1) return first
  const places = [...stores.values()].map((store) => (typeof store === 'object' ? store.url : (store ?? 'the default')))
  throw new UsageError(`the crews of ${file} are kept in ${places.join(' and in ')}; say which with --store`)
}

/** Whether commands without this file would load another file, which may name a store. */
function anotherNamesStore(file: string): boolean {
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
