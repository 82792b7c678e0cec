// One thing that `reprise doctor` has looked at.
export interface Check {
  /** What was looked at: `node`, `store`, `crew`. */
  readonly check: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly says: string
  /** What to do about it. */
  readonly next?: string
}

export function ok(check: string, says: string): Check {
  return { check, state: 'ok', says }
}

export function warn(check: string, says: string, next: string): Check {
  return { check, state: 'warn', says, next }
}

export function fail(check: string, says: string, next: string): Check {
  return { check, state: 'fail', says, next }
}
