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
  const place = defaultStoreUrl(process.cwd())
  throw new RepriseError('RUN_NOT_FOUND', `there are no runs in ${place} yet; start one with: reprise run <file>`)
}

/** Undefined where there was never a run: looking must not leave an empty store behind in every folder. */
export async function openExistingRuns(store: string | undefined): Promise<OpenEngine | undefined> {
  const url = store ?? environment().store
  if (url === undefined && !existsSync(defaultStoreUrl(process.cwd()).replace(/^sqlite:/, ''))) return undefined
  const opened = await openCrewStore(url)
  return { store: opened, world: realWorld(), [Symbol.asyncDispose]: () => opened.close() }
}
