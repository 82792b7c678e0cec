// The verdict on an answer.
import type { NewEntry } from '../../journal/entries.ts'

/** `entries` are verdicts to journal together with what follows from them. */
export type Verdict = { readonly entries: readonly NewEntry[] } & (
  | { readonly status: 'accepted'; readonly raw: string; readonly structured: boolean }
  | { readonly status: 'refused'; readonly by: string; readonly reason: string }
  | { readonly status: 'failed'; readonly reason: string }
  | { readonly status: 'waiting' }
)
