// The verdict on an answer.
import type { NewEntry } from '../../journal/entries.ts'

/** `entries` are verdicts to journal together with what follows from them. */
export type Judged = { readonly entries: readonly NewEntry[] } & (
  | { readonly is: 'accepted'; readonly raw: string; readonly structured: boolean }
  | { readonly is: 'refused'; readonly by: string; readonly reason: string }
  | { readonly is: 'failed'; readonly reason: string }
  | { readonly is: 'waiting' }
)
