// How the rows of the run table are written and found.
import { RepriseError } from '../../base/errors.ts'
import { lastEntry } from '../rules/run-record.ts'
import type { Batch, RunId, RunRow, RunStatus } from '../store.ts'
import type { Connection } from './connection.ts'
import type { ReadyRecord } from './roots.ts'

/** The last entry when the row was written, in the order of `endValues`. */
export const endColumns: readonly string[] = ['last_seq', 'last_hash']

export function endValues(batch: Batch): [number, string] {
  const { seq, hash } = lastEntry(batch)
  return [seq, hash]
}

/** The columns of a new row that decide when the run is offered. A child run is never offered. */
export type RowReady = Pick<ReadyRecord, 'due_at' | 'waiting' | 'tries'> & { readonly ready_at: number | null }
export const neverReady: RowReady = { due_at: null, waiting: 0, tries: 0, ready_at: null }

const unindexed = ['updated_at', 'inputs', 'summary', ...endColumns, 'due_at', 'waiting', 'tries']
const indexed = ['crew', 'version', 'format', 'priority', 'status', 'created_at', 'forked_from', 'ready_at']
const updateUnindexed = `update runs set ${parameters(unindexed).join()}
  where id = ? and ${parameters(indexed, 'is').join(' and ')}`
const updateRow = `update runs set ${parameters([...unindexed, ...indexed]).join()} where id = ?`

function parameters(columns: readonly string[], operator = '='): string[] {
  return columns.map((column) => `${column} ${operator} ?`)
}

/**
 * Usually only unindexed columns change. SQLite writes every index of a column that an update names, even if its value
 * stays, so the indexed columns are named only if one of them changed.
 */
export function replaceRow({ sql }: Connection, id: number, row: RunRow, batch: Batch, ready: RowReady): void {
  const { crew, version, format, priority, status, createdAt, updatedAt, forkedFrom = null, inputs, summary } = row
  const { due_at, waiting, tries, ready_at } = ready
  const fresh = [updatedAt, inputs, summary, ...endValues(batch), due_at, waiting, tries] as const
  const same = [crew, version, format, priority, status, createdAt, forkedFrom, ready_at] as const
  const update = sql(updateUnindexed).run(...fresh, id, ...same)
  if (Number(update.changes) === 0) sql(updateRow).run(...fresh, ...same, id)
}

export function damagedRow(what: string): RepriseError {
  return new RepriseError('JOURNAL_DAMAGED', `${what} is damaged in the database: restore the database from a backup`)
}

/** A root or a child run. */
export function findRun(
  { sql }: Connection,
  run: RunId,
): { readonly id: number; readonly status: RunStatus } | undefined {
  return sql('select id, status from runs where run = ?').get(run) as { id: number; status: RunStatus } | undefined
}
