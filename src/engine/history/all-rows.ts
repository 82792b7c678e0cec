// Every row that a filter finds, newest first, page by page: runs that are created or deleted meanwhile cause no other
// run to be skipped.
import { defined } from '../../base/defined.ts'
import type { RunFilter, RunRow, Store } from '../../stores/store.ts'

const pageSize = 100

/** `first`: how many are read at first, where they are likely to be enough. */
export async function* allRows(store: Store, filter: RunFilter, first: number = pageSize): AsyncGenerator<RunRow> {
  let before: string | undefined
  let limit = first
  do {
    const page = await store.list(filter, { limit, ...defined({ before }) })
    yield* page.rows
    before = page.next
    limit = pageSize
  } while (before !== undefined)
}
