// How far the journal of a run in one store is that of the run of the same id in another one, by its bytes.
import type { Line, RunId, Store } from '../../../stores/store.ts'

/** Of the run in the other store, seen from this one. */
export type Standing =
  | { readonly is: 'absent' }
  | { readonly is: 'same' }
  /** It has the entries up to this one, and no others. */
  | { readonly is: 'behind'; readonly after: number }
  /** It has all entries and more. */
  | { readonly is: 'ahead' }
  /** This entry is another one. */
  | { readonly is: 'other'; readonly at: number }

export async function compareRuns(from: Store, to: Store, run: RunId): Promise<Standing> {
  const theirs = to.read(run)[Symbol.asyncIterator]()
  try {
    let after = 0
    for await (const line of from.read(run)) {
      const next = await theirs.next()
      if (next.done) return after === 0 ? { is: 'absent' } : { is: 'behind', after }
      if (!isSame(line, next.value)) return { is: 'other', at: line.seq }
      after = line.seq
    }
    return (await theirs.next()).done ? { is: 'same' } : { is: 'ahead' }
  } finally {
    await theirs.return?.()
  }
}

function isSame(a: Line, b: Line): boolean {
  return a.seq === b.seq && Buffer.compare(a.bytes, b.bytes) === 0
}
