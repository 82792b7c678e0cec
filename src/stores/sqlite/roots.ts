// The row of a root has the lease of its tree, and the columns that decide when the root is offered to a worker. Every
// change of these columns recomputes `ready_at`, so all changes go through this file.
import { rootRunId } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { readyAt, type TryCounts } from '../rules/ready.ts'
import { checkToken, toHolding } from '../rules/leases.ts'
import type { Lease, RunId, RunStatus, Batch, RunRow } from '../store.ts'
import type { Connection } from './connection.ts'
import { RepriseError } from '../../base/errors.ts'
import { lastEntry } from '../rules/run-record.ts'

/** The columns that decide when a root is offered. */
export interface ReadyRecord {
  readonly id: number
  /** The id of the root. */
  readonly run: string
  readonly status: RunStatus
  readonly due_at: number | null
  readonly waiting: number
  readonly tries: number
  readonly expires_at: number | null
}

export interface RootRecord extends ReadyRecord {
  readonly deaths: number
  readonly token: number
  readonly owner: string | null
  readonly lease: string | null
}

interface Change extends Partial<Omit<RootRecord, 'id' | 'run' | 'status'>> {
  readonly death_token?: number
}

export const readyColumns: readonly (keyof ReadyRecord)[] = [
  'run',
  'status',
  'due_at',
  'waiting',
  'tries',
  'expires_at',
]
export const rootColumns: string = ['id', ...readyColumns, 'token', 'owner', 'lease', 'deaths'].join()

/** Finds the root of a run's tree. */
export function findRoot(connection: Connection, run: RunId): RootRecord | undefined {
  const found = connection.sql(`select ${rootColumns} from runs where run = ?`).get(rootRunId(run))
  return found as RootRecord | undefined
}

/** Finds the leased root. Throws LEASE_LOST if the lease is no longer valid. */
export function heldRoot(connection: Connection, lease: Lease): RootRecord {
  const root = findRoot(connection, lease.run)
  checkToken(lease, root?.token, toHolding(root))
  return root as RootRecord
}

export function readyTime(
  { run, status, due_at, waiting, tries, expires_at }: Omit<ReadyRecord, 'id'>,
  now: number,
): number | null {
  const facts = { run, dueAt: due_at ?? undefined, messages: waiting, tries, expiresAt: expires_at ?? undefined }
  return readyAt({ ended: isEnded(status), ...facts }, now) ?? null
}

/** Writes the changed columns and `ready_at`. */
export function changeRoot({ sql, now }: Connection, root: ReadyRecord, change: Change): void {
  const columns = Object.keys(change) as (keyof Change)[]
  const values = columns.map((column) => change[column] ?? null)
  sql(`update runs set ${columns.map((column) => `${column} = ?`).join()}, ready_at = ? where id = ?`).run(
    ...values,
    readyTime({ ...root, ...change }, now()),
    root.id,
  )
}

/** Columns that say which entry was the last one when the row was written, in the order of `endValues`. */
export const endColumns: readonly string[] = ['last_seq', 'last_hash']

export function endValues(batch: Batch): [number, string] {
  const { seq, hash } = lastEntry(batch)
  return [seq, hash]
}

/** The columns of a row that decide when the run is offered to workers. A child run is never offered. */
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
 * Replaces the listing row. SQLite writes every index of a column that an update names, even if the value stays the
 * same. Usually only unindexed columns change, so the indexed columns are named only if one of them changed.
 */
export function replaceRow({ sql }: Connection, id: number, row: RunRow, batch: Batch, ready: RowReady): void {
  const { crew, version, format, priority, status, createdAt, updatedAt, forkedFrom = null, inputs, summary } = row
  const { due_at, waiting, tries, ready_at } = ready
  const fresh = [updatedAt, inputs, summary, ...endValues(batch), due_at, waiting, tries] as const
  const same = [crew, version, format, priority, status, createdAt, forkedFrom, ready_at] as const
  const update = sql(updateUnindexed).run(...fresh, id, ...same)
  if (Number(update.changes) === 0) sql(updateRow).run(...fresh, ...same, id)
}

/** Columns after a death was counted (`afterDeath`). */
export function deathColumns({ deaths, deathToken }: Partial<TryCounts>): Change {
  return deaths === undefined || deathToken === undefined ? {} : { deaths, death_token: deathToken }
}

export function damagedRowError(what: string): RepriseError {
  return new RepriseError('JOURNAL_DAMAGED', `${what} is damaged in the database: restore the database from a backup`)
}

/** Finds a root or a child run. */
export function findRun(
  { sql }: Connection,
  run: RunId,
): { readonly id: number; readonly status: RunStatus } | undefined {
  return sql('select id, status from runs where run = ?').get(run) as { id: number; status: RunStatus } | undefined
}
