// Wakes code that waits for a change, without telling what changed: the code checks its own state. Notifications stay
// set until they are consumed, so a change during the check is never missed:
//
//   for (;;) {
//     notifier.consume()
//     if (isDone()) return
//     await notifier.wait()
//   }

export interface Notifier {
  /** Sets the flag and wakes everything that waits. */
  notify(): void
  /** Sets the flag for the next `consume`. Wakes nothing, and `wait` doesn't return because of it. */
  set(): void
  /** Clears the flag, and returns whether it was set. */
  consume(): boolean
  /**
   * Resolves at the next `notify`, or at once if there was one since the last `consume`. Rejects with the signal's
   * reason when it aborts.
   */
  wait(signal?: AbortSignal): Promise<void>
}

export function createNotifier(isSet = false): Notifier {
  const waiting = new Set<() => void>()
  let isNotified = false
  return {
    notify() {
      isSet = true
      isNotified = true
      for (const wake of waiting) wake()
      waiting.clear()
    },
    set() {
      isSet = true
    },
    consume() {
      const wasSet = isSet
      isSet = false
      isNotified = false
      return wasSet
    },
    wait(signal) {
      if (isNotified) return Promise.resolve()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const onAbort = (): void => {
        waiting.delete(wake)
        reject(signal?.reason)
      }
      const wake = (): void => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }
      if (signal?.aborted) onAbort()
      else {
        waiting.add(wake)
        signal?.addEventListener('abort', onAbort, { once: true })
      }
      return promise
    },
  }
}

/** Runs one piece of work after another, in the order of the calls. A failure only reaches its own caller. */
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

/** Creates queues on demand, and removes empty ones. */
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
