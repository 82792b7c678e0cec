// What becomes of an answer.
import type { NewEntry } from '../../journal/entries.ts'

/** `entries` are verdicts that are to be journaled together with what comes of them. */
export type Judged = { readonly entries: readonly NewEntry[] } & (
  | { readonly is: 'accepted'; readonly raw: string }
  | { readonly is: 'refused'; readonly by: string; readonly reason: string }
  | { readonly is: 'failed'; readonly reason: string }
  | { readonly is: 'waiting' }
)
