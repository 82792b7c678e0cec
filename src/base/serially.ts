// Work that must not overlap, one piece after another in the order in which it was handed in. A failure reaches only
// the caller that handed the piece in.

export type SerialQueue = <Result>(work: () => Promise<Result>) => Promise<Result>

export function serially(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work)
    last = mine.catch(() => undefined)
    return mine
  }
}

/** The queue of a name; those of other names do not wait for it. */
export type SerialQueues = <Result>(name: string, work: () => Promise<Result>) => Promise<Result>

/** As many queues as there are names. One that has run empty is forgotten. */
export function seriallyByName(): SerialQueues {
  const last = new Map<string, Promise<void>>()
  return (name, work) => {
    const mine = (last.get(name) ?? Promise.resolve()).then(work)
    const over = mine.then(forget, forget)
    last.set(name, over)
    function forget(): void {
      if (last.get(name) === over) last.delete(name)
    }
    return mine
  }
}
