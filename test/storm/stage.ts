// The stage of a history: a folder with two stores, the ledger and the output files; and functions that read them.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { allRows } from '../../src/read/all-rows.ts'
import { readRun } from '../../src/read/read-run.ts'
import type { Entry } from '../../src/journal/entries.ts'
import { isEnded, type RunState } from '../../src/journal/state/state.ts'
import { openStore } from '../../src/stores/open-store.ts'
import type { Store } from '../../src/stores/store.ts'
import { entriesOf } from '../engine/support.ts'
import { storePlace, type StoreKind } from '../support/store-place.ts'
import type { At } from './act.ts'
import { ledgerIn, type Ledger } from './ledger.ts'

export interface Stage extends AsyncDisposable {
  readonly folder: string
  readonly ledger: Ledger
  url(at: At): string
  /** While the stage is broken, some functions throw. */
  putOutOfOrder(is: boolean): void
  /** Reads the runs that `wanted` selects by id. */
  look(at: At, wanted?: (run: string) => boolean): Promise<Looked[]>
  /** The output files by name. */
  files(): { readonly [name: string]: string }
}

export interface Looked {
  readonly run: string
  readonly crew: string
  readonly state: RunState
  readonly entries: readonly Entry[]
}

export async function openStage(folder: string, kind: StoreKind): Promise<Stage> {
  await mkdir(folder, { recursive: true })
  const places = {
    here: await storePlace(kind, join(folder, 'here')),
    there: await storePlace(kind, join(folder, 'there')),
  }
  const url = (at: At): string => places[at].url
  const stores: { [at in At]?: Promise<Store> } = {}
  /** Ended runs never change, so they are read once. */
  const ended = new Map<string, Looked>()
  return {
    folder,
    url,
    ledger: ledgerIn(folder),
    putOutOfOrder(is) {
      const file = join(folder, 'out-of-order')
      if (is) writeFileSync(file, '')
      else rmSync(file, { force: true })
    },
    async look(at, wanted = () => true) {
      const store = await (stores[at] ??= openStore(url(at)))
      const looked: Looked[] = []
      for await (const { run, crew, status, createdAt } of allRows(store, {})) {
        if (!wanted(run)) continue
        const key = `${at} ${run} ${createdAt} ${status}`
        const one = ended.get(key) ?? {
          run,
          crew,
          state: (await readRun(store, run)).state,
          entries: await entriesOf(store, run),
        }
        if (isEnded(status)) ended.set(key, one)
        looked.push(one)
      }
      return looked
    },
    files() {
      const out = join(folder, 'out')
      const names = existsSync(out) ? readdirSync(out) : []
      return Object.fromEntries(names.map((name) => [name, readFileSync(join(out, name), 'utf8')]))
    },
    async [Symbol.asyncDispose]() {
      for (const store of Object.values(stores)) await (await store).close()
      for (const place of Object.values(places)) await place[Symbol.asyncDispose]()
    },
  }
}
