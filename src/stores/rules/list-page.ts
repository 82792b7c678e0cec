// One page of a listing, for stores that have all rows in memory.
import { parentRunId, rootRunId } from '../../journal/paths.ts'
import { decodeCursor, encodeCursor, newestFirst } from './cursor.ts'
import type { RunFilter, RunRow, Store } from '../store.ts'

export function listPage(
  rows: readonly RunRow[],
  filter: RunFilter,
  page: Parameters<Store['list']>[1],
): Awaited<ReturnType<Store['list']>> {
  const before = page.before === undefined ? undefined : decodeCursor(page.before)
  const found = rows
    .filter((row) => filter.crew === undefined || row.crew === filter.crew)
    .filter((row) => filter.forkedFrom === undefined || row.forkedFrom === filter.forkedFrom)
    .filter((row) => !filter.roots || parentRunId(row.run) === undefined)
    .filter((row) => filter.root === undefined || rootRunId(row.run) === filter.root)
    .filter((row) => filter.status === undefined || filter.status.includes(row.status))
    .filter((row) => filter.createdFrom === undefined || row.createdAt >= filter.createdFrom)
    .filter((row) => filter.createdTo === undefined || row.createdAt < filter.createdTo)
    .filter((row) => before === undefined || newestFirst(before, row) < 0)
    .toSorted(newestFirst)
  return cutPage(found, page.limit)
}

/** The first `limit` rows, and where the next page starts if there are more. */
export function cutPage(all: readonly RunRow[], limit: number): Awaited<ReturnType<Store['list']>> {
  const rows = all.slice(0, Math.max(limit, 0))
  const last = rows.at(-1)
  return all.length > rows.length && last !== undefined ? { rows, next: encodeCursor(last) } : { rows }
}
