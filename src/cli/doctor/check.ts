// One thing that `reprise doctor` has looked at. What it says may quote an address, and people paste it into issues.
import { redact } from '../../secrets/redact.ts'

export interface Check {
  /** What was looked at: `node`, `store`, `crew`. */
  readonly check: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly says: string
  /** What to do about it. */
  readonly next?: string
}

/** What was found out about a store. */
export interface CheckedStore {
  readonly checks: readonly Check[]
  /** Its runs can be looked at. */
  readonly isOpen: boolean
}

export function ok(check: string, says: string): Check {
  return { check, state: 'ok', says: redact(says) }
}

export function warn(check: string, says: string, next: string): Check {
  return { check, state: 'warn', says: redact(says), next }
}

export function fail(check: string, says: string, next: string): Check {
  return { check, state: 'fail', says: redact(says), next }
}
