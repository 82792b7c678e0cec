// The time slice that a process has for a run. It ends between two steps, never within one, so that a paid step is
// always recorded; and only after a step of this slice, so that even the shortest slices make progress.
import type { NewEntry } from '../../journal/entries.ts'
import { isStep } from '../../journal/table/entry-table.ts'
import type { World } from '../definition.ts'

/** A time in ms since 1970, or when the signal aborts. */
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

/** Call it with all recorded entries. */
export function noteSteps(slice: Slice, entries: readonly NewEntry[]): void {
  slice.stepped ||= entries.some(isStep)
}

/** Whether the time is up now, or would be after waiting `ms`. Once true, it stays true for all runs of the slice. */
export function isTimeUp(slice: Slice, world: Pick<World, 'now'>, ms = 0): boolean {
  slice.over ||= slice.stepped && slice.until !== undefined && isPast(slice.until, world, ms)
  return slice.over
}

/** Rejects with TimeUp. Call it before every step. */
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
