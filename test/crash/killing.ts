// The appends of a life, counted, and the one at which it is killed.
import type { Store } from '../../src/stores/store.ts'

/** `before:7` is right before the seventh append of a life, `after:7` right after it; '' is never. */
export type KillAt = string

/** A store that calls `kill` at the append that is named. */
export function killingAt(inner: Store, killAt: KillAt, kill: () => unknown): { store: Store; appends(): number } {
  const [moment, number] = killAt.split(':')
  let appends = 0
  const counted =
    <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      const mine = ++appends
      if (moment === 'before' && Number(number) === mine) await kill()
      const written = await write(...args)
      if (moment === 'after' && Number(number) === mine) await kill()
      return written
    }
  const store = { ...inner, create: counted(inner.create.bind(inner)), append: counted(inner.append.bind(inner)) }
  return { store, appends: () => appends }
}
