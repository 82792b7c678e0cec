// Queries that read no journal: rows, pages of rows, and outputs by fingerprint.
import { runStatuses } from '../../journal/entries.ts'
import { acceptedStatuses, decodeCursor, cutPage } from '../rules/listing.ts'
import { rowColumns, toRow, type RunRecord } from '../rules/run-record.ts'
import type { Cursor, RunFilter, RunId, RunRow, RunStatus, Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { damagedRowError } from './roots.ts'

const columns = ['run', ...rowColumns].join()

export async function findRow(connection: Connection, run: RunId): Promise<RunRow | undefined> {
  const record = await connection.read(() => connection.sql(`select ${columns} from runs where run = ?`).get(run))
  if (record === undefined) return undefined
  const row = toRow(record as unknown as RunRecord)
  if (!runStatuses.includes(row.status)) throw damagedRowError(`the status of run ${run}`)
  return row
}

export async function listRows(
  connection: Connection,
  ...[filter, page]: Parameters<Store['list']>
): ReturnType<Store['list']> {
  const limit = Math.max(page.limit, 0)
  const statuses = acceptedStatuses(filter)
  const { conditions, values } = where(filter, page.before)
  if (statuses.length === 0) return { rows: [] }
  // one more row than requested shows whether there is a next page
  const records = await connection.read(() =>
    connection.sql(selectRows(filter, statuses, conditions)).all({ ...values, limit: limit + 1 }),
  )
  return cutPage((records as unknown as RunRecord[]).map(toRow), limit)
}

/**
 * One query per status, each ordered by an index. SQLite merges them row by row: it sorts nothing, and reads no more
 * rows than the page has. The forks of a run and the runs of a tree are few: they are read whatever their status.
 */
function selectRows(filter: RunFilter, statuses: readonly RunStatus[], conditions: readonly string[]): string {
  const order = 'order by created_at desc, run desc limit $limit'
  const index =
    filter.forkedFrom !== undefined ? 'runs_by_source' : filter.root !== undefined ? 'runs_by_root' : undefined
  if (index !== undefined) {
    const among = `status in (${statuses.map((status) => `'${status}'`).join()})`
    return `select ${columns} from runs indexed by ${index} where ${[...conditions, among].join(' and ')} ${order}`
  }
  const pieces = statuses.map(
    (status) => `select ${columns} from runs where ${[`status = '${status}'`, ...conditions].join(' and ')}`,
  )
  return `${pieces.join(' union all ')} ${order}`
}

const conditionOn = {
  crew: 'crew = $crew',
  forkedFrom: 'forked_from = $forkedFrom',
  root: 'root = $root',
  createdFrom: 'created_at >= $createdFrom',
  createdTo: 'created_at < $createdTo',
} as const

function where(filter: RunFilter, before: Cursor | undefined): { conditions: string[]; values: Values } {
  const conditions: string[] = []
  const values: Values = {}
  const last = before === undefined ? undefined : decodeCursor(before)
  // only the nearer bound: with both, SQLite searches by `createdTo` and reads the previous pages again
  const within = last !== undefined && (filter.createdTo === undefined || last.createdAt < filter.createdTo)
  const bounds = within ? { ...filter, createdTo: undefined } : filter
  for (const name of Object.keys(conditionOn) as (keyof typeof conditionOn)[]) {
    const value = bounds[name]
    if (value === undefined) continue
    conditions.push(conditionOn[name])
    values[name] = value
  }
  if (filter.roots) conditions.push('root = run')
  if (within) {
    conditions.push('(created_at, run) < ($lastCreatedAt, $lastRun)')
    Object.assign(values, { lastCreatedAt: last.createdAt, lastRun: last.run })
  }
  return { conditions, values }
}

type Values = { [name: string]: string }

export async function findOutput(
  connection: Connection,
  ...[crew, task, fingerprint, since = 0]: Parameters<Store['findOutput']>
): ReturnType<Store['findOutput']> {
  const found = await connection.read(() =>
    connection
      .sql(
        `select r.run, o.seq, o.completed_at from outputs o join runs r on r.id = o.run_id
         where o.crew = ? and o.task = ? and o.fingerprint = ? and o.completed_at >= ?
         order by o.completed_at desc, o.run_id desc, o.seq desc limit 1`,
      )
      .get(crew, task, fingerprint, since),
  )
  if (found === undefined) return undefined
  return { run: String(found['run']), seq: Number(found['seq']), completedAt: Number(found['completed_at']) }
}
