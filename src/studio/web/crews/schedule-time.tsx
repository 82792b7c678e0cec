// A time of a schedule: as its time zone has it, and in how long that is.
import type { JSX } from 'preact'
import { longTime } from '../../../text/words.ts'
import { now } from '../parts/time.tsx'

export function ScheduleTime({ at, timezone }: { readonly at: string; readonly timezone: string }): JSX.Element {
  return (
    <time dateTime={at} title={`${longTime(at)} here`}>
      {zoned(at, timezone)} <span class="faint">{untilWords(Date.parse(at) - now.value)}</span>
    </time>
  )
}

/** `Thu, 19 Nov 2026, 02:00` */
export function zoned(at: string, timeZone: string): string {
  const shown = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' } as const
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  try {
    return new Intl.DateTimeFormat('en-GB', { ...shown, ...clock, timeZone }).format(new Date(at))
  } catch {
    // a name that the server knows and this browser doesn't
    return longTime(at)
  }
}

export function untilWords(ms: number): string {
  const minutes = Math.round(Math.abs(ms) / 60_000)
  const hours = Math.round(minutes / 60)
  const words =
    minutes < 1
      ? 'less than a minute'
      : minutes < 60
        ? `${minutes} min`
        : hours < 48
          ? `${hours} h`
          : `${Math.round(hours / 24)} days`
  return ms < 0 ? `${words} ago` : `in ${words}`
}
