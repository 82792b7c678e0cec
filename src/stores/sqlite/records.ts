// The run table's rows as SQLite gives them, and what they mean to the port.
import type { Connection } from './connection.ts'
import type { Holding } from '../refusals.ts'
import { RepriseError } from '../../errors.ts'
import { hashBytes } from '../../journal/hash.ts'
import { readOwner } from '../owner.ts'
import type { Batch, RunId, RunRow, RunStatus } from '../store.ts'

export interface RunRecord {
  readonly id: number
  readonly run: string
  readonly crew: string
  readonly version: string
  readonly status: RunStatus
  readonly created_at: string
  readonly updated_at: string
  readonly parent: string | null
  readonly inputs: string
  readonly summary: string
}

export interface LeaseRecord {
  readonly id: number
  readonly run: string
  readonly status: RunStatus
  readonly token: number
  readonly owner: string | null
  readonly expires_at: number | null
}

export const leaseColumns = 'id, run, status, token, owner, expires_at'

/** The columns that a new listing row replaces, in the order of `rowValues`. */
export const rowColumns: readonly (keyof RunRecord)[] = [
  'crew',
  'version',
  'status',
  'created_at',
  'updated_at',
  'parent',
  'inputs',
  'summary',
]

export function rowValues(row: RunRow): (string | null)[] {
  const { crew, version, status, createdAt, updatedAt, parent = null, inputs, summary } = row
  return [crew, version, status, createdAt, updatedAt, parent, inputs, summary]
}

/** The entry that a row was written with, in the order of `endValues`. */
export const endColumns: readonly string[] = ['last_seq', 'last_hash']

export function endValues({ lines }: Batch): [number, string | null] {
  const last = lines.at(-1)
  return last === undefined ? [0, null] : [last.seq, hashBytes(last.bytes)]
}

const updateRow = `update runs set ${[...rowColumns, ...endColumns].map((column) => `${column} = ?`).join()} where id = ?`
const updateUnindexed = `update runs set updated_at = ?, inputs = ?, summary = ?, last_seq = ?, last_hash = ?
  where id = ? and crew = ? and version = ? and status = ? and created_at = ? and parent is ?`

/**
 * Mostly a run stays what it is, and only what no index holds is new. SQLite writes every index of a column that an
 * update names, also when its value stays: so those are named only when one of them changed.
 */
export function replaceRow({ sql }: Connection, id: number, row: RunRow, batch: Batch): void {
  const { crew, version, status, createdAt, updatedAt, parent = null, inputs, summary } = row
  const end = endValues(batch)
  const unindexed = [updatedAt, inputs, summary, ...end] as const
  const update = sql(updateUnindexed).run(...unindexed, id, crew, version, status, createdAt, parent)
  if (Number(update.changes) === 0) sql(updateRow).run(...rowValues(row), ...end, id)
}

/** What somebody else wrote there may be no text: then it is left empty, since a list has other rows to show. */
export function rowOf(record: RunRecord): RunRow {
  const { run, crew, version, status, created_at, updated_at, parent, inputs, summary } = record
  return {
    run: textOf(run),
    crew: textOf(crew),
    version: textOf(version),
    status,
    createdAt: textOf(created_at),
    updatedAt: textOf(updated_at),
    ...(parent === null ? {} : { parent: textOf(parent) }),
    inputs: textOf(inputs),
    summary: textOf(summary),
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function damagedRow(what: string): RepriseError {
  return new RepriseError('JOURNAL_DAMAGED', `${what} is damaged in the database: restore the database from a copy`)
}

export function findLease(connection: Connection, run: RunId): LeaseRecord | undefined {
  return connection.sql(`select ${leaseColumns} from runs where run = ?`).get(run) as LeaseRecord | undefined
}

export function holdingOf(record: LeaseRecord): Holding | undefined {
  const owner = readOwner(record.owner)
  return owner && { owner, expiresAt: record.expires_at ?? 0 }
}
