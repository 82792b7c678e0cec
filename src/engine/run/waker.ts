// Wakes code that waits for something to happen in a run, without saying what: the state shows that.

export interface Waker {
  wake(): void
  /** Resolves at the next `wake`. */
  woken(): Promise<void>
}

export function newWaker(): Waker {
  let next = Promise.withResolvers<void>()
  return {
    wake() {
      const { resolve } = next
      next = Promise.withResolvers<void>()
      resolve()
    },
    woken: () => next.promise,
  }
}
