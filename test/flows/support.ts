// Shared by the tests of flows.
import type { Entry } from '../../src/journal/entries.ts'
import type { Logger } from 'reprise'
import { readRun } from '../../src/read/read-run.ts'
import type { Store } from '../../src/stores/store.ts'

export const quiet: Logger = { info: () => {}, warn: () => {} }

/** A logger that collects the warnings. */
export function listening(): { readonly logger: Logger; readonly warnings: string[] } {
  const warnings: string[] = []
  return { logger: { info: () => {}, warn: (message: string) => void warnings.push(message) }, warnings }
}

export async function entriesOf(store: Store, run: string): Promise<Entry[]> {
  const entries: Entry[] = []
  await readRun(store, run, (entry) => entries.push(entry))
  return entries
}

/** Counts appends to one run. */
export function counting(inner: Store): { readonly store: Store; readonly appends: () => number } {
  let appends = 0
  const store: Store = {
    ...inner,
    append(...given) {
      appends += 1
      return inner.append(...given)
    },
  }
  return { store, appends: () => appends }
}

/** A list of effects, which outlives the processes of a test. */
export function ledger(): { readonly done: string[]; readonly times: (effect: string) => number } {
  const done: string[] = []
  return { done, times: (effect) => done.filter((one) => one === effect).length }
}
