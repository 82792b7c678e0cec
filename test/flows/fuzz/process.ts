// A simulated process: its own identity, timers, and access to the store until it dies. A dead process does nothing
// more, as if killed: its timers never fire, and its calls of the store never return.
import { setImmediate as turn } from 'node:timers/promises'
import type { World } from '../../../src/engine/definition.ts'
import { createProcessState, realWorld } from '../../../src/engine/world.ts'
import { currentOwner } from '../../../src/stores/owner.ts'
import type { Lease, Store } from '../../../src/stores/store.ts'
import type { Random } from '../../storm/random.ts'
import type { VirtualTime } from '../../support/virtual-time.ts'

/** The append at which a process dies, counted from 1. `written`: it dies after the write, else before it. */
export interface Death {
  readonly append: number
  readonly written: boolean
}

export interface Process {
  readonly world: World
  readonly store: Store
  readonly isDead: boolean
  /** Per step, the version of the result that a function has returned in this process. */
  readonly returned: Map<string, number>
  /** Resolves when it dies. */
  readonly died: Promise<'died'>
  sleep(ms: number): Promise<void>
  /** Ends the process, and frees its leases. */
  end(): Promise<void>
}

interface ProcessOptions {
  readonly number: number
  readonly store: Store
  readonly time: VirtualTime
  readonly random: Random
  readonly death?: Death | undefined
}

export function startProcess({ number, store: inner, time, random, death }: ProcessOptions): Process {
  const never = new Promise<never>(() => {})
  const died = Promise.withResolvers<'died'>()
  const leases: Lease[] = []
  const timers = new Set<Disposable>()
  let isDead = false
  let appends = 0
  let ids = 0

  const timer = (ms: number, ring: () => void): Disposable => {
    const bell = time.timer(ms, () => {
      timers.delete(bell)
      if (!isDead) ring()
    })
    timers.add(bell)
    return bell
  }
  const alive = async (): Promise<void> => (isDead ? never : undefined)
  /** The store is sometimes slow. */
  const pause = async (): Promise<void> => {
    for (let turns = random.pick([0, 0, 0, 1, 2, 5]); turns > 0; turns--) await turn()
    await alive()
  }
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => timer(ms, resolve))
  const end = async (): Promise<void> => {
    isDead = true
    for (const bell of timers) bell[Symbol.dispose]()
    for (const lease of leases) await inner.release(lease).catch(() => 0)
    died.resolve('died')
  }
  /** Writes, unless the process dies first. */
  const writing = async <Result>(write: () => Promise<Result>, keep: (result: Result) => void): Promise<Result> => {
    await pause()
    appends += 1
    if (death?.append !== appends) {
      const result = await write()
      keep(result)
      await pause()
      return result
    }
    isDead = true
    // the store may refuse the write
    if (death.written) await write().then(keep, () => {})
    await end()
    return never
  }
  const noteLease = (lease: Lease | undefined): void => void (lease && leases.push(lease))

  const guarded = Object.fromEntries(
    Object.entries(inner).map(([method, call]: [string, unknown]) => {
      if (typeof call !== 'function' || method === 'watch') return [method, call]
      const work = call as (...given: unknown[]) => unknown
      if (method === 'read') {
        return [
          method,
          async function* lines(...given: unknown[]): AsyncGenerator {
            await alive()
            yield* work(...given) as AsyncIterable<unknown>
          },
        ]
      }
      return [method, async (...given: unknown[]) => (await alive(), work(...given))]
    }),
  ) as unknown as Store
  const store: Store = {
    ...guarded,
    create: (...given) =>
      writing(
        () => inner.create(...given),
        ({ lease }) => noteLease(lease),
      ),
    append: (...given) =>
      writing(
        () => inner.append(...given),
        () => {},
      ),
    async acquire(...given) {
      await alive()
      const lease = await inner.acquire(...given)
      noteLease(lease)
      return lease
    },
    close: async () => {},
  }
  const newId = (): string => `${number}-${++ids}`
  const world: World = {
    ...realWorld(),
    now: () => new Date(time.now()),
    monotonic: () => time.monotonic(),
    random: () => random.below(1_000) / 1_000,
    timer,
    sleep(ms, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const bell = timer(ms, resolve)
      const stop = (): void => {
        bell[Symbol.dispose]()
        reject(signal.reason as Error)
      }
      if (signal.aborted) stop()
      else signal.addEventListener('abort', stop, { once: true })
      return promise
    },
    async turn() {
      await turn()
      await alive()
    },
    uuid: newId,
    newRunId: newId,
    newIncarnation: newId,
    owner: { ...currentOwner(), instance: `process ${number}` },
    isGone: () => false,
    process: createProcessState(),
  }
  return {
    world,
    store,
    get isDead() {
      return isDead
    },
    returned: new Map(),
    died: died.promise,
    sleep,
    end,
  }
}
