// The runs in progress in a worker, and the room for more.
import type { ServedCrew } from './served.ts'

export interface Slot {
  readonly run: string
  /** Set if the crew has a limit. */
  readonly crew: ServedCrew | undefined
}

export interface InProgress {
  /** How many more runs the worker may claim now. */
  room(): number
  /** The limit of the crew minus its runs here. The store counts the runs of other processes. */
  roomOf(crew: ServedCrew): number
  /** Holds room during a claim, so that claims on two stores do not use the same room. */
  reserve(count: number): Disposable
  /** `work` must not reject. */
  begin(slot: Slot, work: Promise<void>): void
  /** Calls back whenever a run has left. */
  onRoom(call: () => void): void
  runs(): string[]
  /** Resolves when no run is in progress. */
  done(): Promise<void>
}

export function newInProgress(concurrency: number): InProgress {
  const works = new Map<Promise<void>, Slot>()
  const waiting = new Set<() => void>()
  let reserved = 0
  return {
    room: () => concurrency - works.size - reserved,
    roomOf(crew) {
      const own = [...works.values()].filter((slot) => slot.crew === crew).length
      return Math.max(0, (crew.maxRuns ?? Infinity) - own)
    },
    reserve(count) {
      reserved += count
      return {
        [Symbol.dispose]() {
          reserved -= count
        },
      }
    },
    begin(slot, work) {
      const over = work.finally(() => {
        works.delete(over)
        for (const call of waiting) call()
      })
      works.set(over, slot)
    },
    onRoom: (call) => void waiting.add(call),
    runs: () => [...works.values()].map(({ run }) => run),
    async done() {
      while (works.size > 0) await Promise.all(works.keys())
    },
  }
}
