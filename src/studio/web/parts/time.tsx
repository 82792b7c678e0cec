// Relative times such as `3 min ago`, with the exact time as a tooltip, and durations. One clock updates all of them.
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import type { RunSummary } from '../../../runs/summary.ts'
import { duration, longTime, preciseDuration } from '../../../text/words.ts'

/** The current time, updated every second while the page is visible. */
export const now = signal(Date.now())

export function startClock(): void {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now()
  }, 1_000)
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) now.value = Date.now()
  })
}

export function Ago({ at }: { readonly at: string }): JSX.Element {
  return (
    <time dateTime={at} title={longTime(at)}>
      {agoWords(now.value - Date.parse(at))}
    </time>
  )
}

interface RunTimeProps {
  readonly run: Pick<RunSummary, 'status' | 'createdAt' | 'updatedAt'>
}

/** The duration of a run, waits included, until it ends. */
export function RunTime({ run }: RunTimeProps): JSX.Element {
  const { status, createdAt: from, updatedAt } = run
  const until = status === 'completed' || status === 'failed' || status === 'cancelled' ? updatedAt : undefined
  const end = until === undefined ? now.value : Date.parse(until)
  const ms = Math.max(0, end - Date.parse(from))
  return <span class="number">{until === undefined ? wholeSeconds(ms) : preciseDuration(ms)}</span>
}

export function agoWords(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  if (seconds < 5) return 'just now'
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`
  const days = Math.floor(seconds / 86_400)
  return days === 1 ? 'yesterday' : days < 60 ? `${days} days ago` : `${Math.floor(days / 30)} months ago`
}

/** A duration without tenths of seconds, which would only flicker in a running clock. */
function wholeSeconds(ms: number): string {
  return ms < 60_000 ? `${Math.floor(ms / 1_000)}s` : duration(ms)
}
