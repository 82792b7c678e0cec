// What `create` may be given a run's lease by: who wants one, or the lease of the root that the run works for.
import type { Lease, Owner } from '../store.ts'

export interface LeaseRequest {
  readonly owner: Owner
  readonly ttlMs: number
}

export function isLease(asked: LeaseRequest | Lease | undefined): asked is Lease {
  return asked !== undefined && 'token' in asked
}
