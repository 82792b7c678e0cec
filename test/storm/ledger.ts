// The effects outside the journals, one line each in a file that every process appends to and that survives all kills.
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Json } from 'reprise/journal'

export type Happened =
  /** `path`: the task, after the nested crews that it is in: `t1/t0`. `key`: the idempotency key. */
  | {
      readonly what: 'effect'
      readonly run: string
      readonly path: string
      readonly tool: string
      readonly effect: string
      readonly key: string
      readonly input: Json
      readonly result: Json
    }
  | { readonly what: 'request'; readonly of: string }
  | { readonly what: 'callback'; readonly run: string; readonly path: string }

export type Effect = Extract<Happened, { what: 'effect' }>

export interface Ledger {
  readonly folder: string
  note(happened: Happened): void
  all(): Happened[]
}

export function ledgerIn(folder: string, noted: (happened: Happened) => void = () => {}): Ledger {
  const file = join(folder, 'ledger')
  return {
    folder,
    note(happened) {
      appendFileSync(file, `${JSON.stringify(happened)}\n`)
      noted(happened)
    },
    all: () =>
      read(file)
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Happened),
  }
}

export function effectsIn(happened: readonly Happened[]): Effect[] {
  return happened.filter((one) => one.what === 'effect')
}

/** The effects with this idempotency key. */
export function doneWith(key: string | undefined, happened: readonly Happened[]): Effect[] {
  return happened.filter((one): one is Effect => one.what === 'effect' && one.key === key)
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
