// Every row that a filter finds, newest first, page by page: runs that are created or deleted meanwhile cause no other
// run to be skipped.
import { defined } from '../../defined.ts'
import type { RunFilter, RunRow, Store } from '../../stores/store.ts'

const pageSize = 100

export async function* allRows(store: Store, filter: RunFilter): AsyncGenerator<RunRow> {
  let before: string | undefined
  do {
    const page = await store.list(filter, { limit: pageSize, ...defined({ before }) })
    yield* page.rows
    before = page.next
  } while (before !== undefined)
}
