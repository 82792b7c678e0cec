// Whether there may be something in a run's inbox: its messages are read only then. After every hint there may be, and
// to begin with, unless the run has just been made.

export interface Mailbox {
  /** A message may have come. */
  notify(): void
  /** Whether one may be there; whoever asks reads the inbox. */
  consume(): boolean
  /** Some were left in the inbox: they are there when somebody asks, and nobody is told. */
  restore(): void
  /** Resolves when one may be there that nobody has taken. */
  arrived(): Promise<void>
}

export function mailbox(isThereAtFirst: boolean): Mailbox {
  let news = Promise.withResolvers<void>()
  let isNew = false
  let isThere = isThereAtFirst
  return {
    notify() {
      isThere = true
      isNew = true
      news.resolve()
    },
    consume() {
      const was = isThere
      isThere = false
      // whoever waits for the next one keeps waiting for the same promise
      if (isNew) news = Promise.withResolvers()
      isNew = false
      return was
    },
    restore() {
      isThere = true
    },
    arrived: () => news.promise,
  }
}
