// The shards that the store is one of. The script that creates a run looks at them, too.
import { runStatuses } from '../../journal/entries.ts'
import { joinedShards } from '../rules/known-shards.ts'
import type { Shards } from '../store.ts'
import { list } from './batch-arguments.ts'
import type { Database } from './redis-database.ts'

export async function findShards(database: Database): Promise<Shards | undefined> {
  return shardsFrom(await readShards(database))
}

async function readShards({ read, prefix }: Database): Promise<string> {
  return (await read<string | null>(['GET', `${prefix}shards`])) ?? ''
}

function shardsFrom(text: string): Shards | undefined {
  return text === '' ? undefined : (JSON.parse(text) as Shards)
}

export async function joinShards(
  database: Database,
  given: Pick<Shards, 'id' | 'members'>,
): Promise<Shards | undefined> {
  for (;;) {
    const before = await readShards(database)
    const stored = shardsFrom(before)
    const joined = [true, false].map((isEmpty) => joinedShards(stored, given, isEmpty))
    if (joined.includes(undefined)) return stored
    const texts = joined.map((shards) => JSON.stringify(shards))
    const isNoted = await database.script<number>('shards', [
      before,
      ...texts,
      ...list(runStatuses, (status) => [status]),
    ])
    if (isNoted > 0) return findShards(database)
  }
}
