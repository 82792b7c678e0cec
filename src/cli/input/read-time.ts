// Times and durations as they are typed. A time is an age (`90m`, `12h`, `30d`, `2w`), a day, or a day with a time;
// without a zone it is local, like every time that is printed.
import { UsageError } from '../exit-codes.ts'

/** In seconds. */
const units: { readonly [unit: string]: number } = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }

/** In ISO 8601, which stores compare. A usage error that names the option. */
export function readMoment(option: string, text: string, now: Date = new Date()): string {
  const time = parseMoment(text.trim(), now)
  if (!Number.isNaN(time.getTime())) return time.toISOString()
  throw new UsageError(
    `${option} is ${JSON.stringify(text)}; give an age such as 90m, 12h, 30d or 2w, or a time such as 2026-01-31 or 2026-01-31T12:00`,
  )
}

function parseMoment(text: string, now: Date): Date {
  const [, count = '', unit = ''] = /^(\d+)([mhdw])$/.exec(text) ?? []
  if (unit !== '') return new Date(now.getTime() - Number(count) * (units[unit] ?? 0) * 1_000)
  // a day alone would be midnight in UTC
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return new Date(`${text}T00:00`)
  return new Date(/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}\S*$/.test(text) ? text : Number.NaN)
}

/** `500ms`, `90s`, `10m`, `2h` or `1d`, in seconds. A usage error that names the option. */
export function readDuration(option: string, text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,9}(?:\.\d+)?)\s?(ms|[smhdw])$/.exec(text.trim()) ?? []
  if (unit !== '') return Number(count) * (units[unit] ?? 0)
  throw new UsageError(`${option} is ${JSON.stringify(text)}; give a time such as 500ms, 90s, 10m, 2h or 1d`)
}
