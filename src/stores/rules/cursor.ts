// The end of a page as an opaque text: createdAt and id of its last run. A keyset, not an offset, so that runs created
// or deleted between two pages don't cause others to be skipped or repeated.
import { RepriseError } from '../../base/errors.ts'
import type { Cursor } from '../store.ts'

export interface Position {
  readonly createdAt: string
  readonly run: string
}

export function encodeCursor(row: Position): Cursor {
  return Buffer.from(JSON.stringify([row.createdAt, row.run])).toString('base64url')
}

export function decodeCursor(cursor: Cursor): Position {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const fits = Array.isArray(value) && typeof value[0] === 'string' && typeof value[1] === 'string'
    // PostgreSQL refuses a text with a zero byte
    if (fits && !value.join('').includes('\0')) {
      return { createdAt: value[0], run: value[1] }
    }
  } catch {
    // refused below, like any other text that isn't a cursor
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

/** By UTF-8 bytes, as SQLite compares: UTF-16 order differs for characters beyond the basic plane. */
function compare(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b))
}
