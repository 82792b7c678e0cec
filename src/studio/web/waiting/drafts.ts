// What was typed for an answer that is not recorded yet: it stays while other questions and views are looked at.
import type { Json } from '../../../journal/json.ts'

export interface Draft {
  /** Empty until one is chosen. */
  readonly decision: string
  readonly given: { readonly [field: string]: Json | undefined }
  /** Whether the fields that the decision may have are shown. */
  readonly changed: boolean
  readonly note: string
  /** Why it cannot be sent, or was refused. */
  readonly problem: string
}

const drafts = new Map<string, Draft>()

export function findDraft(question: string): Draft | undefined {
  return drafts.get(question)
}

export function keepDraft(question: string, draft: Draft): void {
  drafts.set(question, draft)
}

export function forgetDraft(question: string): void {
  drafts.delete(question)
}
