// Where journals go when nobody says: `.reprise/runs.db` beside the nearest package.json, or in the working folder.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { environment } from '../environment.ts'
import { openStore } from '../stores/open-store.ts'
import type { Store } from '../stores/store.ts'

export function openCrewStore(store: string | Store | undefined): Promise<Store> {
  return openStore(store ?? environment().store ?? defaultStoreUrl(process.cwd()))
}

export function defaultStoreUrl(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, 'package.json'))) return `sqlite:${join(at, '.reprise', 'runs.db')}`
    if (at === dirname(at)) return `sqlite:${join(folder, '.reprise', 'runs.db')}`
  }
}
