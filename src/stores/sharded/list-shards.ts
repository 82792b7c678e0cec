// One page of several shards: each gives its own page from the same place on, and the newest of all are the page.
import { encodeCursor, newestFirst } from '../rules/cursor.ts'
import { pageOf } from '../rules/list-page.ts'
import type { RunFilter, Store } from '../store.ts'
import type { OpenShard } from './rendezvous.ts'

export async function listShards(
  shards: readonly OpenShard[],
  filter: RunFilter,
  page: Parameters<Store['list']>[1],
): ReturnType<Store['list']> {
  const pages = await Promise.all(shards.map(({ store }) => store.list(filter, page)))
  const { rows, next } = pageOf(pages.flatMap((each) => each.rows).toSorted(newestFirst), page.limit)
  const last = rows.at(-1)
  const isMore = next !== undefined || pages.some((each) => each.next !== undefined)
  return isMore && last !== undefined ? { rows, next: encodeCursor(last) } : { rows }
}
