// What a row of the entry table declares. The compiler requires a row for every type of entry, so a new type can't be
// forgotten anywhere.
import type { EntryBodies, EntryOf, EntryType, RunStatus, Usage } from '../entries.ts'
import type { Shape } from '../check/shapes.ts'
import type { RunState } from '../state/state.ts'

export interface EntryRow<T extends EntryType> {
  /** The check of each field of the body, and of `path` if the entry requires one. */
  readonly fields: { readonly [K in keyof EntryBodies[T]]-?: Shape } & { readonly path?: Shape }
  /** Changes the state of the run, in place. The status is set afterwards, by `status`. */
  apply(state: RunState, entry: EntryOf<T>): void
  /** The status of the run after this entry. Default: unchanged. */
  readonly status?: RunStatus | ((entry: EntryOf<T>) => RunStatus)
  /** The entry may change other tasks than that of its path. */
  readonly everyTask?: true
  /**
   * Whether the listing row is written again. False for steps: a row per step would double what a run writes. While a
   * run is in progress, a list reads from the journal what steps change: usage, and the time of the last entry.
   */
  readonly listed: boolean | ((entry: EntryOf<T>) => boolean)
  /**
   * False for entries that process after process can write without getting anywhere. A run is given up after several
   * takeovers in a row with only such entries.
   */
  readonly progress: boolean
  /** The entry records a model call or a tool call. */
  readonly step?: true | ((entry: EntryBodies[T]) => boolean)
  /** The model calls whose usage the entry records. */
  spent?(entry: EntryOf<T>): readonly SpentCall[]
  /** Whether the entry starts a child run, which is named after its path. */
  startsChild?(entry: EntryOf<T>): boolean
  /** The entry's line in logs and on the command line; undefined if it has none. */
  readonly log: ((entry: EntryOf<T>) => string) | undefined
}

export interface SpentCall {
  readonly at: string
  readonly usage: Usage
}

/** The rows of all types that begin with one of these words. */
export type EntryRows<Prefix extends string> = {
  readonly [T in Extract<EntryType, `${Prefix}.${string}`>]: EntryRow<T>
}

/** ` by Ada`, or an empty string. */
export function byWhom({ by }: { readonly by?: string }): string {
  return by === undefined ? '' : ` by ${by}`
}

/** Up to 100 characters of a text, on one line. */
export function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= 100 ? line : `${line.slice(0, 99)}…`
}
