// Counts the entries that a life writes, to kill it at one of them. Appends are not counted: timing decides which
// entries share one.
import type { Batch, Store } from '../../src/stores/store.ts'

/** `before:7`: right before the seventh entry of a life is written; `after:7`: right after it; `''`: never. */
export type KillAt = string

/** A store that calls `kill` at this entry, with the append that contains it. */
export function killingAt(inner: Store, killAt: KillAt, kill: () => unknown): { store: Store; recorded(): number } {
  const [moment, number] = killAt.split(':')
  let recorded = 0
  const counted = async <R>({ lines }: Batch, write: () => Promise<R>): Promise<R> => {
    const first = recorded + 1
    recorded += lines.length
    const isIt = first <= Number(number) && Number(number) <= recorded
    if (moment === 'before' && isIt) await kill()
    try {
      const written = await write()
      if (moment === 'after' && isIt) await kill()
      return written
    } catch (error) {
      recorded -= lines.length
      throw error
    }
  }
  const store: Store = {
    ...inner,
    create: (row, batch, lease) => counted(batch, () => inner.create(row, batch, lease)),
    append: (lease, after, batch) => counted(batch, () => inner.append(lease, after, batch)),
  }
  return { store, recorded: () => recorded }
}
