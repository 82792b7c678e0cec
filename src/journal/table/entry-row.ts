// What every type of entry has to say about itself. The compiler asks for a row per type, so a new type cannot be
// forgotten in any of these places.
import type { EntryBodies, EntryOf, EntryType, RunStatus, Usage } from '../entries.ts'
import type { Shape } from '../check/shapes.ts'
import type { RunState } from '../state/state.ts'

export interface EntryRow<T extends EntryType> {
  /** Checks each field of the body. Has `path` if the entry makes no sense without one. */
  readonly fields: { readonly [K in keyof EntryBodies[T]]-?: Shape } & { readonly path?: Shape }
  /** Changes the state of the run, in place. The status is set afterwards, from `status`. */
  apply(state: RunState, entry: EntryOf<T>): void
  /** The status that the run has from this entry on. Absent: the status stays. */
  readonly status?: RunStatus | ((entry: EntryOf<T>) => RunStatus)
  /** It may change other tasks than the one of its path. */
  readonly everyTask?: true
  /**
   * Whether the listing row is written again. Steps don't: a row per step would double what a run writes. What they
   * change (usage and the time of the last entry), a list reads from the journal of a run in progress.
   */
  readonly listed: boolean | ((entry: EntryOf<T>) => boolean)
  /**
   * False for entries that a process can write again and again without getting anywhere. A run that gets only such
   * entries is given up after some takeovers.
   */
  readonly progress: boolean
  /** It records a model call or a tool call. */
  readonly step?: true | ((entry: EntryBodies[T]) => boolean)
  /** Model calls whose usage it records. */
  spent?(entry: EntryOf<T>): readonly SpentCall[]
  /** Whether it starts a child run, named after its path. */
  startsChild?(entry: EntryOf<T>): boolean
  /** Its line in logs and on the command line; undefined for entries that have none. */
  readonly log: ((entry: EntryOf<T>) => string) | undefined
}

export interface SpentCall {
  readonly at: string
  readonly usage: Usage
}

/** The rows of all types that begin with these words. */
export type EntryRows<Prefix extends string> = {
  readonly [T in Extract<EntryType, `${Prefix}.${string}`>]: EntryRow<T>
}

/** `by Ada`, or nothing. */
export function byWhom({ by }: { readonly by?: string }): string {
  return by === undefined ? '' : ` by ${by}`
}

/** The beginning of a text, in one line. */
export function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= 100 ? line : `${line.slice(0, 99)}…`
}
