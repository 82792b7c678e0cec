// Runs as a list shows them, newest first.
import { defined } from '../base/defined.ts'
import type { Engine } from '../engine/definition.ts'
import { runNotFoundError } from '../engine/read/run-not-found.ts'
import type { Prices } from '../models/prices.ts'
import { encodeCursor, type Position } from '../stores/rules/cursor.ts'
import type { RunFilter, Store } from '../stores/store.ts'
import { storedStatuses, type RunViewStatus } from './status.ts'
import { onlyMadeFrom } from './lineage.ts'
import { summarize, type RunSummary } from './summary.ts'

export interface RunsFilter extends Omit<RunFilter, 'status'> {
  /**
   * As it is shown: a store cannot tell a run that waits from one that was stopped or has its answers, nor an
   * abandoned one from one that is running.
   */
  readonly status?: readonly RunViewStatus[] | undefined
}

/** A run of a list, or its id. */
export type RunPosition = string | Pick<RunSummary, 'runId' | 'createdAt'>

export interface Page {
  readonly limit: number
  /** The last run of the page before. */
  readonly before?: RunPosition | undefined
}

export interface ListOptions extends Pick<Engine, 'store'> {
  /** Those of the crew whose runs are listed, where its code is at hand. */
  readonly prices?: Prices | undefined
  /** Leaves every `cost` undefined, for who shows none: loading prices takes longer than a whole list. */
  readonly unpriced?: boolean
}

const pageSize = 100

/** RUN_NOT_FOUND when `before` is the id of a run that is gone. */
export async function listRuns(
  engine: ListOptions,
  filter: RunsFilter,
  { limit, before }: Page,
): Promise<RunSummary[]> {
  const found: RunSummary[] = []
  // of rows that a store cannot choose by their status, few may fit
  for await (const summary of allRuns(engine, filter, { limit: filter.status ? pageSize : limit, before })) {
    found.push(summary)
    if (found.length === limit) break
  }
  return found
}

/**
 * All of them; `limit` is how many rows are asked for at a time. Runs that come or go meanwhile make nobody else
 * skipped.
 */
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
