// A point in time by two clocks. Durations are measured by the monotonic one. The time of day is for people and for
// other machines; it jumps when the clock is set or the machine was asleep.
import type { World } from './definition.ts'

export interface Moment {
  readonly monotonic: number
  /** In ms since 1970. */
  readonly day: number
}

export function currentMoment(clock: Pick<World, 'now' | 'monotonic'>): Moment {
  return { monotonic: clock.monotonic(), day: clock.now().getTime() }
}

/** The two clocks never agree to the millisecond. */
const tolerated = 1_000

/** How much further the time of day went than the monotonic clock, in ms; 0 if they differ by less than a second. */
export function jumpBetween(from: Moment, to: Moment): number {
  const jump = Math.round(to.day - from.day - (to.monotonic - from.monotonic))
  return Math.abs(jump) < tolerated ? 0 : jump
}
