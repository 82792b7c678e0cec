// Lists runs, newest first.
import { defined } from '../base/options.ts'
import { runNotFoundError } from '../read/read-run.ts'
import { encodeCursor, type Position } from '../stores/rules/listing.ts'
import type { RunFilter, Store } from '../stores/store.ts'
import { storedStatuses, type RunViewStatus } from './status.ts'
import { onlyMadeFrom } from './lineage.ts'
import { summarize, type Pricing, type RunSummary } from './summary.ts'

export interface RunsFilter extends Omit<RunFilter, 'status'> {
  /** View statuses, which stores can't filter by: they don't know which runs are waiting or abandoned, for example. */
  readonly status?: readonly RunViewStatus[] | undefined
}

/** A listed run, or its id. */
export type RunPosition = string | Pick<RunSummary, 'runId' | 'createdAt'>

export interface Page {
  readonly limit: number
  /** The last run of the previous page. */
  readonly before?: RunPosition | undefined
}

export interface ListOptions extends Pricing {
  readonly store: Store
}

const pageSize = 100

/** Rejects with RUN_NOT_FOUND if `before` is the id of a run that is gone. */
export async function listRuns(
  engine: ListOptions,
  filter: RunsFilter,
  { limit, before }: Page,
): Promise<RunSummary[]> {
  const found: RunSummary[] = []
  // few rows may match a status that the store can't filter by
  for await (const summary of allRuns(engine, filter, { limit: filter.status ? pageSize : limit, before })) {
    found.push(summary)
    if (found.length === limit) break
  }
  return found
}

/** Yields all runs. `limit` is the page size. Skips no run, even if others are created or deleted meanwhile. */
export async function* allRuns(
  { store, prices, unpriced = false }: ListOptions,
  { status, ...filter }: RunsFilter,
  { limit = pageSize, before }: Partial<Page> = {},
): AsyncGenerator<RunSummary> {
  const rows = { ...filter, ...defined({ status: status && storedStatuses(status) }) }
  const fits = await onlyMadeFrom(store, filter.forkedFrom)
  let next = before === undefined ? undefined : encodeCursor(await findPosition(store, before))
  do {
    const page = await store.list(rows, { limit, ...defined({ before: next }) })
    for (const row of page.rows.filter(fits)) {
      const summary = await summarize(store, row, { prices, unpriced })
      if (!status || status.includes(summary.status)) yield summary
    }
    next = page.next
  } while (next !== undefined)
}

async function findPosition(store: Store, before: RunPosition): Promise<Position> {
  if (typeof before === 'object') return { run: before.runId, createdAt: before.createdAt }
  const row = await store.row(before)
  if (!row) throw runNotFoundError(store, before)
  return row
}
