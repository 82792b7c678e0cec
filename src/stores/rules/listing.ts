// Pages of listings. A cursor encodes createdAt and id of the last run of a page. It is a keyset, not an offset: runs
// that are created or deleted between two pages don't cause others to be skipped or repeated.
import { RepriseError } from '../../base/errors.ts'
import { runStatuses } from '../../journal/entries.ts'
import { parentRunId, rootRunId } from '../../journal/paths.ts'
import type { Cursor, RunFilter, RunRow, RunStatus, Store } from '../store.ts'

export interface Position {
  readonly createdAt: string
  readonly run: string
}

export function encodeCursor(row: Position): Cursor {
  return Buffer.from(JSON.stringify([row.createdAt, row.run])).toString('base64url')
}

/** Throws OPTION_INVALID if the string isn't a cursor. */
export function decodeCursor(cursor: Cursor): Position {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const fits = Array.isArray(value) && typeof value[0] === 'string' && typeof value[1] === 'string'
    // PostgreSQL refuses strings with NUL characters
    if (fits && !value.join('').includes('\0')) {
      return { createdAt: value[0], run: value[1] }
    }
  } catch {
    // refused below, like any other string that isn't a cursor
  }
  throw new RepriseError(
    'OPTION_INVALID',
    `"${cursor}" isn't a cursor of a listing: pass \`next\` of the previous page`,
  )
}

/** The order of listings: newest first, then by id descending. */
export function newestFirst(a: Position, b: Position): number {
  return compare(b.createdAt, a.createdAt) || compare(b.run, a.run)
}

export function oldestFirst(a: Position, b: Position): number {
  return -newestFirst(a, b)
}

/** Compares UTF-8 bytes, as SQLite does: UTF-16 order differs for characters beyond the basic plane. */
function compare(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** The statuses that a filter accepts. */
export function acceptedStatuses({ status }: RunFilter): readonly RunStatus[] {
  return runStatuses.filter((each) => status?.includes(each) ?? true)
}

/** Filters, sorts and cuts one page, for stores that have all rows in memory. */
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

/** Returns the first `limit` rows, and where the next page starts if there are more. */
export function cutPage(all: readonly RunRow[], limit: number): Awaited<ReturnType<Store['list']>> {
  const rows = all.slice(0, Math.max(limit, 0))
  const last = rows.at(-1)
  return all.length > rows.length && last !== undefined ? { rows, next: encodeCursor(last) } : { rows }
}
