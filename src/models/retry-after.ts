// How long to wait before a retry: as long as the server asks for, or else a growing, partly random time, so that
// workers that were refused together don't retry together.

/** If the server asks for a longer wait, the call fails instead: the run can be resumed later. */
export const maxWaitMs = 60_000

const firstWaitMs = 1000
const maxBackoffMs = 30_000

/** In ms, from the headers `retry-after-ms` or `retry-after` (seconds or a date). Undefined if there is none. */
export function retryAfter(error: unknown, now: number): number | undefined {
  const headers = (error as { readonly responseHeaders?: Readonly<Record<string, string>> } | undefined)
    ?.responseHeaders
  if (headers === undefined || headers === null) return undefined
  const milliseconds = number(headers['retry-after-ms'])
  if (milliseconds !== undefined) return milliseconds
  const value = headers['retry-after']
  if (value === undefined) return undefined
  const seconds = number(value)
  if (seconds !== undefined) return seconds * 1000
  const date = Date.parse(value)
  // relative to the server's clock, which may differ from ours
  const since = Date.parse(headers['date'] ?? '') || now
  return Number.isNaN(date) ? undefined : Math.max(0, date - since)
}

/** The wait after so many failed tries: half of 1, 2, 4 … seconds, plus a random part of the other half. */
export function backoff(failedTries: number, chance: number): number {
  const full = Math.min(maxBackoffMs, firstWaitMs * 2 ** (failedTries - 1))
  return Math.round(full / 2 + (full / 2) * chance)
}

function number(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === '') return undefined
  const value = Number(text)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}
