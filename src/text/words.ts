// Formats times (in local time), durations, amounts and lists for the command line, for diffs and for the page.

/** `2026-05-03 14:02:05` */
export function longTime(at: string): string {
  const date = new Date(at)
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-')
  return `${day} ${clock(at)}`
}

/** `14:02:05` */
export function clock(at: string): string {
  const date = new Date(at)
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
}

/** At most six columns: `14:02` for today, `3 May` for this year, `2025` for another year. */
export function shortTime(at: string, now: Date): string {
  const date = new Date(at)
  if (date.getFullYear() !== now.getFullYear()) return String(date.getFullYear())
  if (date.toDateString() === now.toDateString()) return clock(at).slice(0, 5)
  return `${date.getDate()} ${date.toLocaleString('en', { month: 'short' })}`
}

/** `0.4s`, `12.3s`, `2m05s`, `1h02m` */
export function duration(ms: number): string {
  if (ms < 59_950) return `${(Math.max(0, ms) / 1000).toFixed(1)}s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`
  return `${Math.floor(seconds / 3600)}h${two(Math.floor((seconds % 3600) / 60))}m`
}

/** `40ms`; from one second on, as `duration`. For lists with very short steps. */
export function preciseDuration(ms: number): string {
  return ms < 1_000 ? `${Math.max(0, Math.round(ms))}ms` : duration(ms)
}

/** `950`, `12.3k`, `4.6M` */
export function amount(count: number): string {
  if (count < 10_000) return String(count)
  return count < 999_950 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`
}

export function usageWords({ input, output }: { readonly input: number; readonly output: number }): string {
  return `${amount(input)} tokens in, ${amount(output)} out`
}

/** `3, 5 to 8` */
export function rangesOf(numbers: readonly number[]): string {
  const parts: { first: number; last: number }[] = []
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const before = parts.at(-1)
    if (before && number === before.last + 1) before.last = number
    else parts.push({ first: number, last: number })
  }
  return parts.map(({ first, last }) => (first === last ? String(first) : `${first} to ${last}`)).join(', ')
}

/** `facts, draft and note`. */
export function namesWords(names: readonly string[]): string {
  return names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : (names[0] ?? '')
}

/** Replaces times in ISO 8601 by local times, which all other words use. */
export function inLocalTimes(words: string): string {
  return words.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, longTime)
}

/** `facts, note, 98 more`: a flow may have thousands of steps. */
export function someNames(names: readonly string[], most = 30): string {
  const more = names.length - most
  return (more <= 0 ? names : [...names.slice(0, most), `${more} more`]).join(', ')
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}

/** `$0.0123`, `$4.56`, `<$0.0001`, `unknown` */
export function dollars(cost: number | undefined): string {
  if (cost === undefined) return 'unknown'
  if (cost > 0 && cost < 0.0001) return '<$0.0001'
  return `$${cost.toFixed(cost > 0 && cost < 0.99995 ? 4 : 2)}`
}

export function entriesWord(count: number): string {
  return count === 1 ? '1 entry' : `${count} entries`
}

/** `180 kB`, `4.2 MB` */
export function sizeWords(bytes: number): string {
  if (bytes < 1_000_000) return `${Math.ceil(bytes / 1_000)} kB`
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
}

/** Quotes a word for a shell, if necessary. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
