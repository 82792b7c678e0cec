// Queues that run one piece of work after another, in the order of the calls. A failure reaches only its own caller.

export type SerialQueue = <Result>(work: () => Promise<Result>) => Promise<Result>

export function serially(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work)
    last = mine.catch(() => undefined)
    return mine
  }
}

/** One queue per name. Queues with different names don't wait for each other. */
export type SerialQueues = <Result>(name: string, work: () => Promise<Result>) => Promise<Result>

/** Empty queues are dropped. */
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
