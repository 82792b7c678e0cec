// The hints of several shards as one: each may come for nothing, and many may become one.
import type { RunId } from '../store.ts'
import type { OpenShard } from './rendezvous.ts'

/** Begins at once, not when the first hint is asked for: what changes in between must not be missed. */
export function watchShards(
  shards: readonly OpenShard[],
  run: RunId | undefined,
  signal: AbortSignal,
  only?: 'messages',
): AsyncIterable<void> {
  const over = new AbortController()
  const end = (): void => over.abort()
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
  let woken = Promise.withResolvers<void>()
  let left = shards.length
  let failed: { readonly error: unknown } | undefined

  async function hear(hints: AsyncIterable<void>): Promise<void> {
    try {
      for await (const _ of hints) woken.resolve()
    } catch (error) {
      failed ??= { error }
    }
    left--
    woken.resolve()
  }
  for (const { store } of shards) void hear(store.watch(run, over.signal, only))

  function finish(): IteratorResult<void> {
    signal.removeEventListener('abort', end)
    end()
    return { done: true, value: undefined }
  }

  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        await woken.promise
        if (failed) {
          finish()
          throw failed.error
        }
        if (left === 0 || over.signal.aborted) return finish()
        woken = Promise.withResolvers<void>()
        return { done: false, value: undefined }
      },
      return: async () => finish(),
    }),
  }
}
