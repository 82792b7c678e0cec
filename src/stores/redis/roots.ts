// Root runs. The lease of a root covers its tree.
import { RepriseError } from '../../base/errors.ts'
import { readOwner } from '../owner.ts'
import { checkToken, type Holding } from '../rules/leases.ts'
import type { Lease, RunId, Tries } from '../store.ts'
import type { Database } from './database.ts'

/** Fields of a root as the server returns them. Without a lease, all but the token and the counters are empty. */
type RootValues = [
  token: number | string,
  lease: string,
  owner: string,
  expiresAt: number | string,
  tries?: string,
  deaths?: string,
]

export interface Root extends Tries {
  readonly token: number
  readonly holding: Holding | undefined
  /** For `next_is_as_read` in scripts/common.lua. */
  readonly read: readonly string[]
}

export async function findRoot({ read, key }: Database, root: RunId): Promise<Root | undefined> {
  const fields = ['token', 'lease', 'owner', 'expires_at', 'tries', 'deaths']
  const [token, ...rest] = await read<(string | null)[]>(['HMGET', key('run', root), ...fields])
  return token == null ? undefined : toRoot([token, ...rest.map((value) => value ?? '')] as RootValues)
}

function toRoot([token, lease, ownerText, expiresAt, tries, deaths]: RootValues): Root {
  const owner = readOwner(ownerText)
  return {
    token: Number(token),
    holding: owner && { owner, id: lease, expiresAt: Number(expiresAt) },
    tries: Number(tries ?? 0),
    deaths: Number(deaths ?? 0),
    read: [String(token), lease, String(expiresAt)],
  }
}

/** The current lease of the root; no values if there is no root. */
export type RefusedReply = ['lease', ...values: RootValues | []]

/** LEASE_LOST. */
export function refuse(lease: Lease, [, ...values]: RefusedReply): never {
  const root = values.length === 0 ? undefined : toRoot(values)
  checkToken(lease, root?.token, root?.holding)
  throw new RepriseError('STORE_FAILED', `the lease of run ${lease.run} was refused although it is valid: try again`)
}
