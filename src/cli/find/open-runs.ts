// The store that a command works on: `--store`, else the one that the crew's file names, else REPRISE_STORE, else the
// default beside package.json.
import { resolve } from 'node:path'
import { defaultStoreUrl, openCrewStore } from '../../crew/verbs/default-store.ts'
import type { Engine } from '../../engine/definition.ts'
import { realWorld } from '../../engine/world.ts'
import { environment } from '../../base/environment.ts'
import { RepriseError } from '../../base/errors.ts'
import { missingStore as missingStoreAt } from '../../stores/missing-store.ts'
import { storePath } from '../../stores/open-store.ts'
import { shortWaitMs, patientStore } from '../../stores/patient/patient-store.ts'
import type { Store } from '../../stores/store.ts'
import { UsageError } from '../exit-codes.ts'
import type { Terminal } from '../output/terminal.ts'
import type { Commands, Kept } from '../write-command.ts'
import { anotherNamesStore, crewStore } from './crew-store.ts'

export type OpenEngine = Engine & AsyncDisposable

/** Of a command that needs only a store: which one it was told, or whose. */
export interface StoreOptions {
  readonly store?: string
  readonly file?: string
}

interface Call {
  readonly options: StoreOptions
  readonly commands?: Commands
  /** Where somebody hears that a store is away. Without it, nobody waits for one. */
  readonly terminal?: Pick<Terminal, 'err'>
}

/** For commands that look at runs. RUN_NOT_FOUND where there was never a run. */
export async function openRuns(call: Call): Promise<OpenEngine> {
  const place = await storeOf(call)
  await checkRuns(place)
  return openEngine(place, call)
}

/** Undefined where there was never a run: looking must not leave an empty store behind in every folder. */
export async function openExistingRuns(call: Call): Promise<OpenEngine | undefined> {
  const place = await storeOf(call)
  return (await missingStore(place)) === undefined ? openEngine(place, call) : undefined
}

/** For commands that put a run there: the store is made when it is not there yet. */
export async function openStoreFor(call: Call): Promise<OpenEngine> {
  return openEngine(await storeOf(call), call)
}

/** Of the store itself, which is not opened. A usage error where a crew has opened its store by itself. */
export async function storeUrlOf(call: Call): Promise<string> {
  const place = await storeOf(call)
  if (typeof place !== 'object') return storeUrl(place)
  throw new UsageError(`the crew has opened its store ${place.url} by itself; name the store with --store`)
}

/**
 * For a studio, which opens it itself and may be started before the first worker. RUN_NOT_FOUND for a file or folder
 * that has no runs and that `--store` does not name: it is likelier the wrong one.
 */
export async function storeOfStudio(call: Call): Promise<string | Store | undefined> {
  const place = await storeOf(call)
  const named = call.options.store !== undefined
  if (!named && typeof place !== 'object' && storePath(storeUrl(place)) !== undefined) await checkRuns(place)
  return place
}

/** Undefined where the environment or the default decides. What is printed from here on names the same store. */
async function storeOf({ options, commands }: Call): Promise<string | Store | undefined> {
  if (options.store !== undefined) return options.store
  const found = await crewStore(options.file)
  commands?.keptIn(storeOutside(found, options.file))
  return found
}

async function openEngine(place: string | Store | undefined, { terminal }: Call): Promise<OpenEngine> {
  const tell = (told: string): void => terminal?.err.line(`warning: ${told}`)
  const opened = patientStore(await openCrewStore(place), { limitMs: terminal ? shortWaitMs : 0, onOutage: tell })
  return { store: opened, world: realWorld(), [Symbol.asyncDispose]: () => opened.close() }
}

export function noRunsYet(place: string): RepriseError {
  return new RepriseError('RUN_NOT_FOUND', `there are no runs in ${place} yet`, { next: { act: 'kickoff' } })
}

/** For commands that go on from a run: RUN_NOT_FOUND where there was never one, before a store is made. */
export async function checkRuns(given: string | Store | undefined): Promise<void> {
  const missing = await missingStore(given)
  if (missing !== undefined) throw noRunsYet(missing)
}

function storeUrl(store: string | undefined): string {
  return store ?? environment().store ?? defaultStoreUrl(process.cwd())
}

/**
 * How commands that are not told the file of the crew find its store, where they might look in another one. `store` is
 * what the crew names, `file` what this call was given.
 */
export function storeOutside(store: string | Store | undefined, file: string | undefined): Kept | undefined {
  const url = typeof store === 'object' ? store.url : storeUrl(store)
  // one without a place is gone with its process
  if (/^memory:/i.test(url)) return undefined
  const path = storePath(url)
  // a store of somebody's own, which only the crew's file can open, or a server, whose URL may have a password in it
  if (path === undefined) return typeof store === 'object' || url !== storeUrl(undefined) ? 'file' : undefined
  const found = storePath(storeUrl(undefined))
  const sameByDefault = found !== undefined && resolve(found) === resolve(path)
  return sameByDefault && (file === undefined || !anotherNamesStore(file)) ? undefined : { store: url }
}

/** What a store is called in which a run would be the first: nothing is made by asking. STORE_INVALID. */
export async function missingStore(store: string | Store | undefined): Promise<string | undefined> {
  return missingStoreAt(typeof store === 'object' ? store : storeUrl(store))
}
