// Limits on time: the slice that a process has for a run, timeouts, and requests per minute.
//
// A slice ends between two steps, never within one, so that a paid step is always recorded; and only after a step of
// this slice, so that even the shortest slices make progress.
import type { NewEntry } from '../../journal/entries.ts'
import { isStep } from '../../journal/table/entry-table.ts'
import type { World, TaskDefinition } from '../definition.ts'
import type { Clock } from '../../base/clock.ts'
import type { Life } from '../life.ts'

/** The end of a slice: a time in ms since 1970, or a signal that aborts. */
export type Until = number | AbortSignal

/** Shared by a run and its child runs. */
export interface Slice {
  until: Until | undefined
  /** A step was recorded in this slice. */
  stepped: boolean
  /** The time is up: no further step starts. */
  over: boolean
}

/** Thrown between two steps. The run is then queued for a worker. */
export class TimeUp extends Error {}

export function newSlice(): Slice {
  return { until: undefined, stepped: false, over: false }
}

/** Notes whether a step was recorded. Call it with every recorded entry. */
export function noteSteps(slice: Slice, entries: readonly NewEntry[]): void {
  slice.stepped ||= entries.some(isStep)
}

/** Whether the slice is over now, or would be after waiting `ms`. Once over, it stays over for all of its runs. */
export function isTimeUp(slice: Slice, world: Pick<World, 'now'>, ms = 0): boolean {
  slice.over ||= slice.stepped && slice.until !== undefined && isPast(slice.until, world, ms)
  return slice.over
}

/** Throws TimeUp if the slice is over. Call it before every step. */
export function checkTime({
  tree,
  engine,
}: {
  readonly tree: { readonly slice: Slice }
  readonly engine: { readonly world: World }
}): void {
  if (isTimeUp(tree.slice, engine.world)) throw new TimeUp('the time is up')
}

function isPast(until: Until, world: Pick<World, 'now'>, ms: number): boolean {
  return typeof until === 'number' ? world.now().getTime() + ms >= until : until.aborted
}

// Timeouts. Unlike AbortSignal.timeout, a deadline keeps the process alive, because the promise that it guards may be
// the only thing left to wait for.

interface Deadline extends Disposable {
  /** Aborts with `outer`, or when the time is up. */
  readonly signal: AbortSignal
  readonly over: boolean
}

/**
 * Starts a timeout. Without `seconds`, only `outer` aborts. `lostMs` returns the total time lost to outages of the
 * store, which doesn't count.
 */
export function deadline(
  clock: Pick<Clock, 'timer'>,
  seconds: number | undefined,
  outer: AbortSignal,
  lostMs: () => number = () => 0,
): Deadline {
  if (seconds === undefined) return { signal: outer, over: false, [Symbol.dispose]: () => {} }
  const controller = new AbortController()
  let lost = lostMs()
  const ring = (): void => {
    const more = lostMs() - lost
    lost += more
    // at least 100 ms, since the lost time keeps growing during an outage
    if (more > 0) timer = clock.timer(Math.max(more, 100), ring, true)
    else controller.abort(new Error(`the time of ${seconds} s is up`))
  }
  let timer = clock.timer(seconds * 1000, ring, true)
  return {
    signal: AbortSignal.any([outer, controller.signal]),
    get over() {
      return controller.signal.aborted
    },
    [Symbol.dispose]: () => timer[Symbol.dispose](),
  }
}

/** Rejects with the signal's reason as soon as it aborts, even if the user code behind `promise` ignores the signal. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // a promise that has already settled wins
  if (signal.aborted) return Promise.race([promise, Promise.reject(signal.reason as Error)])
  const { promise: first, resolve, reject } = Promise.withResolvers<T>()
  const onAbort = (): void => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  return first
}

// Requests per minute (`maxRpm`), counted per process.

/**
 * Waits until the agent, the crew and the crews of its parent runs may make another request. Rejects with TimeUp if the
 * wait would outlast the slice.
 */
export async function waitForSlots(
  { agent }: TaskDefinition,
  { crew, parent: outer, tree: { slice }, engine: { world } }: Life,
  signal: AbortSignal,
): Promise<void> {
  const isTooLong = (ms: number): boolean => isTimeUp(slice, world, ms)
  if (agent.maxRpm !== undefined) await takeSlot(agent.identity, agent.maxRpm, world, signal, isTooLong)
  for (const { maxRpm, tasks } of [crew, ...(outer?.crews ?? [])])
    if (maxRpm !== undefined) await takeSlot(tasks, maxRpm, world, signal, isTooLong)
}

/** Takes one of `perMinute` slots in any 60 seconds. Rejects with TimeUp if the wait would be too long. */
export async function takeSlot(
  owner: object,
  perMinute: number,
  world: Pick<World, 'monotonic' | 'sleep' | 'process'>,
  signal: AbortSignal,
  isTooLong: (ms: number) => boolean = () => false,
): Promise<void> {
  const { requests } = world.process
  const taken = requests.get(owner) ?? []
  requests.set(owner, taken)
  for (;;) {
    const now = world.monotonic()
    while (taken[0] !== undefined && taken[0] <= now - 60_000) taken.shift()
    if (taken.length < perMinute) {
      taken.push(now)
      return
    }
    const ms = (taken[0] as number) + 60_000 - now
    if (isTooLong(ms)) throw new TimeUp('the time is up before the next request may be made')
    await world.sleep(ms, signal)
  }
}
