// Root runs. The lease of a root covers its tree.
import { RepriseError } from '../../base/errors.ts'
import { readOwner } from '../owner.ts'
import { checkToken, type Holding } from '../rules/leases.ts'
import type { Lease, RunId } from '../store.ts'
import type { Database } from './database.ts'

/** Fields of a root as the server returns them. Without a lease, all but the token are empty. */
export type RootValues = [token: number | string, lease: string, owner: string, expiresAt: number | string]

export interface Root {
  readonly token: number
  readonly lease: string
  readonly owner: string
  readonly expiresAt: number
  /** For `next_is_as_read` in scripts/common.lua. */
  readonly read: readonly string[]
}

export async function findRoot({ read, key }: Database, root: RunId): Promise<Root | undefined> {
  const fields = ['token', 'lease', 'owner', 'expires_at']
  const [token, ...rest] = await read<(string | null)[]>(['HMGET', key('run', root), ...fields])
  return token == null ? undefined : toRoot([token, ...rest.map((value) => value ?? '')] as RootValues)
}

export function toRoot([token, lease, owner, expiresAt]: RootValues): Root {
  const read = [String(token), lease, String(expiresAt)]
  return { token: Number(token), lease, owner, expiresAt: Number(expiresAt), read }
}

export function toHolding({ owner: text, lease, expiresAt }: Root): Holding | undefined {
  const owner = readOwner(text)
  return owner && { owner, id: lease, expiresAt }
}

/** The current lease of the root; no values if there is no root. */
export type RefusedReply = ['lease', ...values: RootValues | []]

/** LEASE_LOST. */
export function refuse(lease: Lease, [, ...values]: RefusedReply): never {
  const root = values.length === 0 ? undefined : toRoot(values)
  checkToken(lease, root?.token, root && toHolding(root))
  throw new RepriseError('STORE_FAILED', `the lease of run ${lease.run} was refused although it is valid: try again`)
}
