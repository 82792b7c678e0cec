// Lengths of time as they are typed: `500ms`, `90s`, `10m`, `2h`, `1d`.
import { UsageError } from '../exit-codes.ts'

const units: { readonly [unit: string]: number } = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }

/** In seconds. A usage error that names the option. */
export function readDuration(option: string, text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,9}(?:\.\d+)?)\s?(ms|[smhdw])$/.exec(text.trim()) ?? []
  if (unit !== '') return Number(count) * (units[unit] ?? 0)
  throw new UsageError(`${option} is ${JSON.stringify(text)}; give a time such as 500ms, 90s, 10m, 2h or 1d`)
}
