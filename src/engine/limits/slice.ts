// The time that a process has for a run. It is looked at between two steps, never within one: what is being paid for is
// recorded first. And only after a step: however short the slices are, each gets the run further.
import type { NewEntry } from '../../journal/entries.ts'
import { isStep } from '../../journal/table/entry-table.ts'
import type { World } from '../definition.ts'

/** In ms since 1970, or whenever the signal aborts. */
export type Until = number | AbortSignal

/** Of a run and the runs that work for it. */
export interface Slice {
  readonly until: Until | undefined
  /** A step was recorded in this life. */
  stepped: boolean
  /** Somebody has found that the time is up: nothing more is begun. */
  over: boolean
}

/** Thrown between two steps. The run waits for a worker. */
export class TimeUp extends Error {}

export function newSlice(until: Until | undefined): Slice {
  return { until, stepped: false, over: false }
}

/** To be told of everything that is recorded. */
export function noteSteps(slice: Slice, entries: readonly NewEntry[]): void {
  slice.stepped ||= entries.some(isStep)
}

/** Whether to stop here, or would be after `ms` of waiting. Once it is, nobody who shares the slice begins anything. */
export function isTimeUp(slice: Slice, world: Pick<World, 'now'>, ms = 0): boolean {
  slice.over ||= slice.stepped && slice.until !== undefined && isPast(slice.until, world, ms)
  return slice.over
}

/** Rejects with TimeUp. Call it before every step. */
export function checkTime({
  slice,
  engine,
}: {
  readonly slice: Slice
  readonly engine: { readonly world: World }
}): void {
  if (isTimeUp(slice, engine.world)) throw new TimeUp('the time is up')
}

function isPast(until: Until, world: Pick<World, 'now'>, ms: number): boolean {
  return typeof until === 'number' ? world.now().getTime() + ms >= until : until.aborted
}
