// The shards that a schema is one of. Whoever makes a run reads them in the statement that writes it, without a lock;
// whoever adds one waits for all such statements that are under way, and those that come meanwhile wait for that: they
// begin to read when they have the lock on the table that they write.
import { joinedShards, shardsOf, type ShardRecord } from '../rules/known-shards.ts'
import type { Shards } from '../store.ts'
import { binaryColumn } from './append/binary-arrays.ts'
import type { Statements } from './connection/postgres-pool.ts'
import type { Database } from './database.ts'

type Found = ShardRecord & { readonly [column: string]: unknown }

export async function findShards({ read, schema }: Database): Promise<Shards | undefined> {
  return readShards(read, schema)
}

async function readShards(query: Statements['query'], schema: string): Promise<Shards | undefined> {
  return shardsOf(await query<Found>(`select id, url, self, founder from ${schema}.shards order by id`))
}

/** Whether there are others than those whose ids are given. */
export function strangersSql(schema: string, known: string): string {
  return `exists (select 1 from ${schema}.shards s where not s.self and s.id <> all (${known}))`
}

export async function joinShards(
  { schema, transaction }: Database,
  given: Pick<Shards, 'id' | 'members'>,
): Promise<Shards | undefined> {
  return transaction(async ({ query }) => {
    // whoever waits for a table in use makes everybody wait who comes after
    await query("set local lock_timeout = '5s'")
    await query(`lock table ${schema}.heads in share mode`)
    const stored = await readShards(query, schema)
    const [runs] = await query<{ any: boolean }>(`select exists (select 1 from ${schema}.heads) as any`)
    const joined = joinedShards(stored, given, runs?.any === false)
    if (joined === undefined) return stored
    const { id, members, founders } = joined
    await query(`delete from ${schema}.shards`)
    await query(
      `insert into ${schema}.shards (id, url, self, founder)
       select m.id, m.url, m.id = $3, m.id = any ($4::text[]) from unnest($1::text[], $2::text[]) as m(id, url)`,
      [
        binaryColumn('text', members, (member) => member.id),
        binaryColumn('text', members, (member) => member.url),
        id,
        binaryColumn('text', founders, (founder) => founder),
      ],
    )
    return joined
  })
}
