// The runs that a worker has in progress, and how many more it may take.
import type { ServedCrew } from './served.ts'

export interface Slot {
  readonly run: string
  /** Known where the crew has a limit of its own. */
  readonly crew: ServedCrew | undefined
}

export interface InProgress {
  /** How many more it may claim now. */
  room(): number
  /** What the limit of the crew leaves beside its runs here. The store knows of those elsewhere. */
  roomOf(crew: ServedCrew): number
  /** Takes room for as long as a claim is under way, so that two stores do not claim for the same places. */
  reserve(places: number): Disposable
  /** `work` must not reject. */
  begin(place: Slot, work: Promise<void>): void
  /** Calls back whenever a run has left. */
  onRoom(call: () => void): void
  runs(): string[]
  /** Resolves when none is left. */
  done(): Promise<void>
}

export function newInProgress(concurrency: number): InProgress {
  const works = new Map<Promise<void>, Slot>()
  const waiting = new Set<() => void>()
  let reserved = 0
  return {
    room: () => concurrency - works.size - reserved,
    roomOf(crew) {
      const own = [...works.values()].filter((place) => place.crew === crew).length
      return Math.max(0, (crew.maxRuns ?? Infinity) - own)
    },
    reserve(places) {
      reserved += places
      return {
        [Symbol.dispose]() {
          reserved -= places
        },
      }
    },
    begin(place, work) {
      const over = work.finally(() => {
        works.delete(over)
        for (const call of waiting) call()
      })
      works.set(over, place)
    },
    onRoom: (call) => void waiting.add(call),
    runs: () => [...works.values()].map(({ run }) => run),
    async done() {
      while (works.size > 0) await Promise.all(works.keys())
    },
  }
}
