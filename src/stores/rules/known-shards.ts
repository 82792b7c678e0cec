// What a store does as one of several shards: which others it knows, and whom it lets make runs. The argument why this
// is enough is in sharded/join-shards.ts.
import { RepriseError } from '../../errors.ts'
import { isLease, type Asked } from './asked-lease.ts'
import type { Lease, RunId, Shards } from '../store.ts'

/** What a store is to keep after it was given members; undefined when it stays as it is. */
export function joinedShards(
  stored: Shards | undefined,
  { id, members }: Pick<Shards, 'id' | 'members'>,
  isEmpty: boolean,
): Shards | undefined {
  const given = members.map((member) => member.id)
  const known = stored?.members.map((member) => member.id) ?? []
  if (!known.every((member) => given.includes(member)) || given.length === known.length) return undefined
  const own = stored?.id ?? id
  return { id: own, members, founders: isEmpty ? given : (stored?.founders ?? [own]) }
}

/** STORE_INVALID unless all other members are among those that whoever makes a run knows. */
export function checkShards(
  run: RunId,
  url: string,
  stored: Shards | undefined,
  asked: Asked | Lease | undefined,
  known: readonly string[] = [],
): void {
  if (stored === undefined || isLease(asked)) return
  const missing = stored.members.filter(({ id }) => id !== stored.id && !known.includes(id))
  if (missing.length > 0) throw shardsMissing(run, url, missing)
}

export function shardsMissing(run: RunId, url: string, missing: Shards['members']): RepriseError {
  const names = missing.map((shard) => shard.url).join(' and ')
  return new RepriseError(
    'STORE_INVALID',
    `run ${run} was not made: runs of ${url} are spread over more stores than this process knows, also over ${names}; give them all, as sharded:url,url, and start it again`,
    { runId: run },
  )
}

/** A member as the tables of the SQL stores have it. */
export interface ShardRecord {
  readonly id: string
  readonly url: string
  readonly self: unknown
  readonly founder: unknown
}

export function shardsOf(records: readonly ShardRecord[]): Shards | undefined {
  const self = records.find((record) => Boolean(record.self))
  return (
    self && {
      id: self.id,
      members: records.map(({ id, url }) => ({ id, url })),
      founders: records.filter(({ founder }) => Boolean(founder)).map(({ id }) => id),
    }
  )
}
