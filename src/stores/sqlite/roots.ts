// Roots. A root has the lease of its tree, and the columns that decide when it is offered to a worker. Every change of
// them recomputes `ready_at`, so all changes go through this file.
import { rootRunId } from '../../journal/paths.ts'
import { isEnded } from '../../journal/state/state.ts'
import { readyAt, type DeathCount } from '../rules/ready.ts'
import { checkToken, toHolding } from '../rules/leases.ts'
import type { Lease, RunId, RunStatus } from '../store.ts'
import type { Connection } from './connection.ts'

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

export interface RootRecord extends ReadyRecord, DeathCount {
  readonly token: number
  readonly owner: string | null
  readonly lease: string | null
}

export type Change = Partial<Omit<RootRecord, 'id' | 'run' | 'status'>>

export const readyColumns: readonly (keyof ReadyRecord)[] = [
  'run',
  'status',
  'due_at',
  'waiting',
  'tries',
  'expires_at',
]
export const rootColumns: string = ['id', ...readyColumns, 'token', 'owner', 'lease', 'deaths', 'died'].join()

/** The root of a run's tree. */
export function findRoot(connection: Connection, run: RunId): RootRecord | undefined {
  const found = connection.sql(`select ${rootColumns} from runs where run = ?`).get(rootRunId(run))
  return found as RootRecord | undefined
}

/** The leased root. LEASE_LOST if the lease is no longer valid. */
export function heldRoot(connection: Connection, lease: Lease): RootRecord {
  const root = findRoot(connection, lease.run)
  checkToken(lease, root?.token, toHolding(root))
  return root as RootRecord
}

export function readyTime(
  { run, status, due_at, waiting, tries, expires_at }: Omit<ReadyRecord, 'id'>,
  now: number,
): number | null {
  const decides = { run, dueAt: due_at ?? undefined, messages: waiting, tries, expiresAt: expires_at ?? undefined }
  return readyAt({ ended: isEnded(status), ...decides }, now) ?? null
}

export function changeRoot({ sql, now }: Connection, root: ReadyRecord, change: Change): void {
  const columns = Object.keys(change) as (keyof Change)[]
  const values = columns.map((column) => change[column] ?? null)
  sql(`update runs set ${columns.map((column) => `${column} = ?`).join()}, ready_at = ? where id = ?`).run(
    ...values,
    readyTime({ ...root, ...change }, now()),
    root.id,
  )
}
