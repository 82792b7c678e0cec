// The store that a command works on: `--store`, else REPRISE_STORE, else the default beside package.json.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { defaultStoreUrl, openCrewStore } from '../../crew/verbs/default-store.ts'
import type { Engine } from '../../engine/definition.ts'
import { realWorld } from '../../engine/world.ts'
import { environment } from '../../environment.ts'
import { RepriseError } from '../../errors.ts'
import { storePath } from '../../stores/open-store.ts'
import type { Store } from '../../stores/store.ts'

export type OpenEngine = Engine & AsyncDisposable

/** For commands that look at runs. RUN_NOT_FOUND where there was never a run. */
export async function openRuns(store: string | undefined): Promise<OpenEngine> {
  const engine = await openExistingRuns(store)
  if (engine) return engine
  throw noRunsYet(store)
}

export function noRunsYet(store?: string): RepriseError {
  const place = storeUrl(store)
  return new RepriseError('RUN_NOT_FOUND', `there are no runs in ${place} yet`, { next: { act: 'kickoff' } })
}

/** For commands that go on from a run: RUN_NOT_FOUND where there was never one, before a store is made. */
export function checkRuns(given: string | Store | undefined): void {
  if (typeof given !== 'object' && !storeExists(given)) throw noRunsYet(given)
}

/** For commands that put a run there: the store is made when it is not there yet. */
export async function openStoreFor(store: string | undefined): Promise<OpenEngine> {
  const opened = await openCrewStore(store)
  return { store: opened, world: realWorld(), [Symbol.asyncDispose]: () => opened.close() }
}

/** Undefined where there was never a run: looking must not leave an empty store behind in every folder. */
export async function openExistingRuns(store: string | undefined): Promise<OpenEngine | undefined> {
  return storeExists(store) ? openStoreFor(storeUrl(store)) : undefined
}

function storeUrl(store: string | undefined): string {
  return store ?? environment().store ?? defaultStoreUrl(process.cwd())
}

/** The store that a crew names, where commands that do not load the crew would look in another one. */
export function storeOutside(store: string | Store | undefined): string | undefined {
  const url = typeof store === 'object' ? store.url : store
  const path = url === undefined ? undefined : storePath(url)
  // one without a place is gone with its process
  if (path === undefined) return undefined
  const found = storePath(storeUrl(undefined))
  return found !== undefined && resolve(found) === resolve(path) ? undefined : url
}

/** False where a run would be the first: nothing is made by asking. STORE_INVALID. */
export function storeExists(store: string | undefined): boolean {
  const path = storePath(storeUrl(store))
  return path === undefined || existsSync(path)
}
