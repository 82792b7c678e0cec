// The default store: `.reprise/runs.db` next to the nearest package.json, or in the working folder.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { environment } from '../base/environment.ts'
import { RepriseError, reworded } from '../base/errors.ts'
import { openStore } from '../stores/open-store.ts'
import type { Store } from '../stores/store.ts'

/** STORE_INVALID and other errors of opening; they mention REPRISE_STORE if that named the store. */
export async function openCrewStore(store: string | Store | undefined): Promise<Store> {
  if (store !== undefined) return openStore(store)
  const { store: place } = environment()
  if (place === undefined) return openStore(defaultStoreUrl(process.cwd()))
  return openStore(place).catch((error: unknown) => {
    if (!RepriseError.isInstance(error)) throw error
    throw reworded(error, `the store that REPRISE_STORE names: ${error.facts}`, { cause: error.cause })
  })
}

/** Whether this is the store of a crew without a `store` option. */
export function isDefaultPlace(url: string): boolean {
  return url === (environment().store ?? defaultStoreUrl(process.cwd()))
}

export function defaultStoreUrl(folder: string): string {
  return `sqlite:${join(projectFolder(folder), '.reprise', 'runs.db')}`
}

/** The nearest folder with a package.json, upwards from `folder`; else `folder`. */
export function projectFolder(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, 'package.json'))) return at
    if (at === dirname(at)) return folder
  }
}
