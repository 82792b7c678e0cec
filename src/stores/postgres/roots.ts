// Root runs. The lease of a root covers its tree.
import { readOwner } from '../owner.ts'
import type { Holding } from '../rules/leases.ts'
import type { RunId } from '../store.ts'
import { nowSql, type Database } from './database.ts'

export interface RootRecord {
  readonly id: number
  readonly token: number
  readonly lease: string | null
  readonly owner: string | null
  readonly expires_at: number | null
  readonly tries: number
  readonly deaths: number
  /** The store's clock at the time of the read. */
  readonly now: number
  readonly [column: string]: unknown
}

export const rootColumns: string = `r.id, r.token, r.lease, r.owner, r.expires_at, r.tries, r.deaths, ${nowSql} as now`

export async function findRoot(database: Database, root: RunId): Promise<RootRecord | undefined> {
  const [found] = await database.read<RootRecord>(
    `select ${rootColumns} from ${database.schema}.heads r where r.run = $2`,
    [database.now(), root],
  )
  return found
}

export function toHolding({ owner: text, lease, expires_at }: RootRecord): Holding | undefined {
  const owner = readOwner(text)
  return owner && { owner, id: lease ?? '', expiresAt: expires_at ?? 0 }
}
