// The store that a command works on: `--store`, else REPRISE_STORE, else the default beside package.json.
import { existsSync } from 'node:fs'
import { defaultStoreUrl, openCrewStore } from '../crew/default-store.ts'
import type { Engine } from '../engine/definition.ts'
import { realWorld } from '../engine/world.ts'
import { environment } from '../environment.ts'
import { RepriseError } from '../errors.ts'

export type OpenEngine = Engine & AsyncDisposable

/** For commands that look at runs. RUN_NOT_FOUND where there was never a run. */
export async function openRuns(store: string | undefined): Promise<OpenEngine> {
  const engine = await openExistingRuns(store)
  if (engine) return engine
  throw noRunsYet()
}

export function noRunsYet(): RepriseError {
  const place = defaultStoreUrl(process.cwd())
  return new RepriseError('RUN_NOT_FOUND', `there are no runs in ${place} yet; start one with: reprise run <file>`)
}

/** For commands that put a run there: the store is made when it is not there yet. */
export async function openStoreFor(store: string | undefined): Promise<OpenEngine> {
  const opened = await openCrewStore(store)
  return { store: opened, world: realWorld(), [Symbol.asyncDispose]: () => opened.close() }
}

/** Undefined where there was never a run: looking must not leave an empty store behind in every folder. */
export async function openExistingRuns(store: string | undefined): Promise<OpenEngine | undefined> {
  const url = store ?? environment().store
  if (url === undefined && !defaultStoreExists()) return undefined
  return openStoreFor(url)
}

/** False only where neither the environment names a store nor the default one was ever made. */
export function defaultStoreExists(): boolean {
  return environment().store !== undefined || existsSync(defaultStoreUrl(process.cwd()).replace(/^sqlite:/, ''))
}
