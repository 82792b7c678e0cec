// A bell that somebody waits for, while others ring it.

/** Many rings before somebody waits are one. One promise at a time, so that a long run leaves no trail of them. */
export interface Bell {
  ring(): void
  rung(): Promise<void>
}

export function createBell(): Bell {
  let { promise, resolve } = Promise.withResolvers<void>()
  return {
    ring: () => resolve(),
    async rung() {
      // hints do not keep a process alive; somebody who waits for the next entry does
      const alive = setInterval(() => {}, 60_000)
      await promise
      clearInterval(alive)
      ;({ promise, resolve } = Promise.withResolvers<void>())
    },
  }
}
