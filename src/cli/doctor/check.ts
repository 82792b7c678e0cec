// A check of `reprise doctor`. Its text is redacted: it may quote a URL, and people paste it into issues.
import { redact } from '../../secrets/redact.ts'

export interface Check {
  /** The subject: `node`, `store`, `crew`. */
  readonly check: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly says: string
  /** What to do about it. */
  readonly next?: string
}

/** The checks of a store. */
export interface CheckedStore {
  readonly checks: readonly Check[]
  /** Whether its runs can be read. */
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
