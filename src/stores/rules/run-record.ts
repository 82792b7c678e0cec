// A listing row as columns of the SQL stores, which are also the fields of a run in Redis.
import type { Priority, RunRow, RunStatus, Batch, Line, LastEntryNote } from '../store.ts'
import { hashBytes } from '../../journal/hash.ts'

export interface RunRecord {
  readonly run: string
  readonly crew: string
  readonly version: string
  readonly format: number
  readonly priority: Priority
  readonly status: RunStatus
  readonly created_at: string
  readonly updated_at: string
  readonly forked_from: string | null
  readonly inputs: string
  readonly summary: string
}

/** The columns of a listing row, in the order of `rowValues`. */
export const rowColumns: readonly (keyof RunRecord)[] = [
  'crew',
  'version',
  'format',
  'priority',
  'status',
  'created_at',
  'updated_at',
  'forked_from',
  'inputs',
  'summary',
]

export function rowValues(row: RunRow): (string | number | null)[] {
  const { crew, version, format, priority, status, createdAt, updatedAt, forkedFrom = null, inputs, summary } = row
  return [crew, version, format, priority, status, createdAt, updatedAt, forkedFrom, inputs, summary]
}

/**
 * Converts a record to a row. A value of another type in a text column, which only another program writes, becomes
 * empty: one bad row must not break a listing.
 */
export function toRow(record: RunRecord): RunRow {
  const { run, crew, version, format, priority, status, created_at, updated_at, forked_from, inputs, summary } = record
  return {
    run: textOrEmpty(run),
    crew: textOrEmpty(crew),
    version: textOrEmpty(version),
    format,
    priority,
    status,
    createdAt: textOrEmpty(created_at),
    updatedAt: textOrEmpty(updated_at),
    ...(forked_from === null ? {} : { forkedFrom: textOrEmpty(forked_from) }),
    inputs: textOrEmpty(inputs),
    summary: textOrEmpty(summary),
  }
}

function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The note on the batch's last entry. */
export function lastEntry({ lines }: Batch): Required<LastEntryNote> {
  const { seq, bytes, hash = hashBytes(bytes) } = lines.at(-1) as Line
  return { seq, hash }
}
