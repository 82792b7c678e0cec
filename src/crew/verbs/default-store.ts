// Where journals go when nobody says: `.reprise/runs.db` beside the nearest package.json, or in the working folder.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { environment } from '../../base/environment.ts'
import { RepriseError, reworded } from '../../base/errors.ts'
import { openStore } from '../../stores/open-store.ts'
import type { Store } from '../../stores/store.ts'

/** STORE_INVALID and what else opening gives, with the variable where that named the place. */
export async function openCrewStore(store: string | Store | undefined): Promise<Store> {
  if (store !== undefined) return openStore(store)
  const { store: place } = environment()
  if (place === undefined) return openStore(defaultStoreUrl(process.cwd()))
  return openStore(place).catch((error: unknown) => {
    if (!RepriseError.isInstance(error)) throw error
    throw reworded(error, `the store that REPRISE_STORE names: ${error.facts}`, { cause: error.cause })
  })
}

/** Whether a crew that was given no store keeps its runs there. */
export function isDefaultPlace(url: string): boolean {
  return url === (environment().store ?? defaultStoreUrl(process.cwd()))
}

export function defaultStoreUrl(folder: string): string {
  return `sqlite:${join(projectFolder(folder), '.reprise', 'runs.db')}`
}

/** The nearest folder with a package.json, from this one upwards, or this one. */
export function projectFolder(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, 'package.json'))) return at
    if (at === dirname(at)) return folder
  }
}
