// Reads from a run's journal which processes executed it, and how long it took.
import { setTimeout as wait } from 'node:timers/promises'
import type { Store } from 'reprise/stores'
import type { Entry } from 'reprise/journal'

export type Resumed = Extract<Entry, { type: 'run.resumed' }>

/** A process that executed the run, and the dispatcher's call that started it, if there was one. */
export interface Life {
  readonly pid: number
  readonly via: Resumed['via']
}

/** Yields the entries of a run as they are written, until it ends. Rejects after `limitMs`. */
export async function* entriesOf(store: Store, run: string, limitMs: number): AsyncGenerator<Entry> {
  const limit = performance.now() + limitMs
  for (let last = 0; ; await wait(10)) {
    for await (const { seq, bytes } of store.read(run, last)) {
      const entry = JSON.parse(Buffer.from(bytes).toString('utf8')) as Entry
      last = seq
      yield entry
      if (entry.type === 'run.completed' || entry.type === 'run.failed' || entry.type === 'run.cancelled') return
    }
    if (performance.now() > limit) throw new Error(`run ${run} did not end within ${limitMs / 1_000} seconds`)
  }
}

/** Returns the lives of a run. A queued run has none until a process starts it. */
export function livesIn(entries: readonly Entry[]): Life[] {
  return entries.flatMap((entry): Life[] => {
    if (entry.type === 'run.resumed') return [{ pid: entry.owner.pid, via: entry.via }]
    return entry.type === 'run.created' && !entry.queued ? [{ pid: entry.owner.pid, via: undefined }] : []
  })
}

export function secondsOf(entries: readonly Entry[]): number {
  const [first, last] = [entries[0], entries.at(-1)]
  return first && last ? (Date.parse(last.at) - Date.parse(first.at)) / 1_000 : Number.NaN
}
