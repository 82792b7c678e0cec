// The lease argument of `create`: a request for a new lease, or the lease of the root of a child run.
import type { Lease, Owner } from '../store.ts'

export interface LeaseRequest {
  readonly owner: Owner
  readonly ttlMs: number
}

export interface CreateResult {
  readonly created: boolean
  readonly lease?: Lease
}

export function isLease(lease: LeaseRequest | Lease | undefined): lease is Lease {
  return lease !== undefined && 'token' in lease
}
