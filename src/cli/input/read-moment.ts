// Times as they are typed: an age (`90m`, `12h`, `30d`, `2w`), a day, or a day with a time. Without a zone they are
// local, as all that is printed is.
import { UsageError } from '../exit-codes.ts'

const units: { readonly [unit: string]: number } = { m: 60, h: 3_600, d: 86_400, w: 604_800 }

/** As stores compare it. A usage error that names the option. */
export function readMoment(option: string, text: string, now: Date = new Date()): string {
  const time = momentOf(text.trim(), now)
  if (!Number.isNaN(time.getTime())) return time.toISOString()
  throw new UsageError(
    `${option} is ${JSON.stringify(text)}; give an age such as 90m, 12h, 30d or 2w, or a time such as 2026-01-31 or 2026-01-31T12:00`,
  )
}

function momentOf(text: string, now: Date): Date {
  const [, count = '', unit = ''] = /^(\d+)([mhdw])$/.exec(text) ?? []
  if (unit !== '') return new Date(now.getTime() - Number(count) * (units[unit] ?? 0) * 1_000)
  // a day alone would be taken for midnight in Greenwich
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return new Date(`${text}T00:00`)
  return new Date(/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}\S*$/.test(text) ? text : Number.NaN)
}
