// Events of which the source is opened when the first one is asked for.

/** To return early ends a wait at once, also that for the opening. */
export function lazyIterator<Event, End>(
  open: () => Promise<AsyncIterableIterator<Event, End>>,
): AsyncIterableIterator<Event, End | undefined> {
  let source: Promise<AsyncIterableIterator<Event, End>> | undefined
  let left = false
  return {
    async next() {
      if (left) return { done: true, value: undefined }
      source ??= open()
      return (await source).next()
    },
    async return() {
      left = true
      await (await source?.catch(() => undefined))?.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
