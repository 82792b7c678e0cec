// What this connection knows about the runs that it appends to, so that an append need not ask again what the last one found out.
// It holds while nobody else has written. What this connection itself does to a run (a lease taken or given back, an end, a
// deletion) must be told here by whoever does it, and a transaction that is undone takes everything with it.
import type { RunId } from '../store.ts'

/** A run that has not ended and whose lease is held. */
export interface WritableRun {
  readonly id: number
  readonly crew: string
  readonly token: number
  /** The number of its last entry. */
  readonly last: number
}

export type WritableRuns = Map<RunId, WritableRun>
