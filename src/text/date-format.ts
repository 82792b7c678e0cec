// Formats dates by the common codes of strftime (`%d %B %Y`), in English and in the time zone of the process.

const months = 'January February March April May June July August September October November December'.split(' ')
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')
const two = (value: number): string => String(value).padStart(2, '0')

const codes: { readonly [code: string]: (date: Date) => string } = {
  Y: (date) => String(date.getFullYear()),
  y: (date) => two(date.getFullYear() % 100),
  m: (date) => two(date.getMonth() + 1),
  B: (date) => months[date.getMonth()] ?? '',
  b: (date) => (months[date.getMonth()] ?? '').slice(0, 3),
  d: (date) => two(date.getDate()),
  A: (date) => days[date.getDay()] ?? '',
  a: (date) => (days[date.getDay()] ?? '').slice(0, 3),
  H: (date) => two(date.getHours()),
  I: (date) => two(date.getHours() % 12 || 12),
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  M: (date) => two(date.getMinutes()),
  S: (date) => two(date.getSeconds()),
  '%': () => '%',
}

export const dateCodes: readonly string[] = Object.keys(codes).map((code) => `%${code}`)

export function formatDate(format: string, date: Date): string {
  return format.replaceAll(/%(.)/gsu, (written, code: string) => codes[code]?.(date) ?? written)
}

/** Whether a format has a code besides `%%`, and only known codes. */
export function isDateFormat(format: string): boolean {
  const used = format.match(/%.?/gsu) ?? []
  return used.some((code) => code !== '%%') && used.every((code) => dateCodes.includes(code))
}
