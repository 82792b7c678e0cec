// A signal that one waits for and others give.

/** Many rings before somebody waits count as one. One promise at a time, so that a long run doesn't accumulate them. */
export interface Bell {
  ring(): void
  rung(): Promise<void>
}

export function createBell(): Bell {
  let { promise, resolve } = Promise.withResolvers<void>()
  return {
    ring: () => resolve(),
    async rung() {
      // hints do not keep a process alive; waiting for the next entry does
      const alive = setInterval(() => {}, 60_000)
      await promise
      clearInterval(alive)
      ;({ promise, resolve } = Promise.withResolvers<void>())
    },
  }
}
