// A way to wake whoever waits for something to happen in a run, without saying what: a look at the state tells.

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
