// What this connection knows about the runs that it appends to, so that an append need not ask again what the last one found out.
// It holds while nobody else has written: SQLite tells by a number whether another connection has committed, and under the write
// lock, where it is asked, nobody can. What this connection itself does to a run (a lease taken or given back, an end, a deletion)
// must be told here by whoever does it, and a transaction that is undone takes everything with it.
import type { StatementSync } from 'node:sqlite'
import type { RunId } from '../store.ts'

/** A run that has not ended and whose lease is held. */
export interface WritableRun {
  readonly id: number
  readonly crew: string
  readonly token: number
  /** The number of its last entry. */
  readonly last: number
}

export interface WritableRuns {
  get(run: RunId): WritableRun | undefined
  set(run: RunId, found: WritableRun): void
  /** To be called by everything that changes a run's lease or status. */
  forget(run: RunId): void
  /** At the beginning of every transaction, under the write lock. */
  begun(): void
  /** When anything was rolled back, or may have been. */
  undone(): void
}

export function writableRuns(sql: (text: string) => StatementSync): WritableRuns {
  const known = new Map<RunId, WritableRun>()
  let version: unknown
  return {
    get: (run) => known.get(run),
    set: (run, found) => void known.set(run, found),
    forget: (run) => void known.delete(run),
    begun() {
      const now = sql('pragma data_version').get()?.['data_version']
      if (now !== version) known.clear()
      version = now
    },
    undone: () => known.clear(),
  }
}
