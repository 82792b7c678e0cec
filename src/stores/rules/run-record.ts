// A listing row as the tables of the SQL stores have it.
import type { Priority, RunRow, RunStatus } from '../store.ts'

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

/** The columns that a new listing row replaces, in the order of `rowValues`. */
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

/** What somebody else wrote there may be no text: then it is left empty, since a list has other rows to show. */
export function toRow(record: RunRecord): RunRow {
  const { run, crew, version, format, priority, status, created_at, updated_at, forked_from, inputs, summary } = record
  return {
    run: requireText(run),
    crew: requireText(crew),
    version: requireText(version),
    format,
    priority,
    status,
    createdAt: requireText(created_at),
    updatedAt: requireText(updated_at),
    ...(forked_from === null ? {} : { forkedFrom: requireText(forked_from) }),
    inputs: requireText(inputs),
    summary: requireText(summary),
  }
}

function requireText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
