// The table of shards in a SQLite database: that of the store of this name, and the small one of a folder.
import type { StatementSync } from 'node:sqlite'
import { shardsOf, type ShardRecord } from './known-shards.ts'
import type { Shards } from '../store.ts'

type Sql = (text: string) => StatementSync

export function readShards(sql: Sql): Shards | undefined {
  return shardsOf(sql('select id, url, self, founder from shards order by id').all() as unknown as ShardRecord[])
}

/** Within a transaction. */
export function writeShards(sql: Sql, { id: own, members, founders }: Shards): void {
  sql('delete from shards').run()
  for (const { id, url } of members) {
    sql('insert into shards (id, url, self, founder) values (?, ?, ?, ?)').run(
      id,
      url,
      Number(id === own),
      Number(founders.includes(id)),
    )
  }
}
