// The golden journals: exported runs, and beside each what readers saw of it when it was recorded.
import { readFileSync, readdirSync } from 'node:fs'
import type { Entry } from '../../../src/journal/entries.ts'
import type { Json } from '../../../src/journal/json.ts'

import type { Outputs } from './lab.ts'

export const journals = new URL('journals/', import.meta.url)

export interface Recorded {
  readonly scene: string
  readonly run: string
  /** The golden journal of the same run after its end. Absent for a run that is not continued. */
  readonly ends?: string
  /** The outputs of a run that has ended. */
  readonly outputs?: Outputs
  /** The effects so far. */
  readonly effects: readonly string[]
  readonly readings: { readonly [run: string]: Json }
}

export interface Golden extends Recorded {
  readonly name: string
  readonly exported: string
  /** The entries of the run and its child runs. */
  readonly entries: readonly Entry[]
}

export function goldens(): Golden[] {
  const names = readdirSync(journals).flatMap((file) => (file.endsWith('.jsonl') ? [file.slice(0, -6)] : []))
  return names.toSorted().map((name) => {
    const exported = readFileSync(new URL(`${name}.jsonl`, journals), 'utf8')
    const recorded = JSON.parse(readFileSync(new URL(`${name}.view.json`, journals), 'utf8')) as Recorded
    const lines = exported
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Entry)
    return { ...recorded, name, exported, entries: lines.filter((line) => 'seq' in line) }
  })
}
