// Lists all rows that match a filter, newest first, page by page. Runs created or deleted between two pages don't cause
// other runs to be skipped.
import { defined } from '../base/options.ts'
import type { RunFilter, RunRow, Store } from '../stores/store.ts'

const pageSize = 100

/** Yields the rows. `first` is the size of the first page, for callers that probably need few rows. */
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
