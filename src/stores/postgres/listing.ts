// Queries that read no journal: rows, pages of rows, and outputs by fingerprint.
import { RepriseError } from '../../base/errors.ts'
import { runStatuses } from '../../journal/entries.ts'
import { acceptedStatuses, decodeCursor, cutPage } from '../rules/listing.ts'
import { rowColumns, toRow, type RunRecord } from '../rules/run-record.ts'
import type { Cursor, RunFilter, RunId, RunRow, RunStatus, Store } from '../store.ts'
import type { Value } from './connection.ts'
import type { Database } from './database.ts'

type ListRecord = RunRecord & { readonly [column: string]: unknown }

const columns = ['run', ...rowColumns].join()

export async function findRow({ read, schema, url }: Database, run: RunId): Promise<RunRow | undefined> {
  const [record] = await read<ListRecord | { readonly run: null }>(
    `select ${columns.replaceAll(/\w+/g, 'l.$&')} from ${schema}.heads h left join ${schema}.listing l on l.id = h.id
     where h.run = $1`,
    [run],
  )
  if (record === undefined) return undefined
  const why = record.run === null ? 'has no row in listing' : statusDamage(record)
  if (why === undefined) return toRow(record as ListRecord)
  throw new RepriseError('JOURNAL_DAMAGED', `run ${run} in ${url} ${why}: restore the database from a copy`, {
    runId: run,
  })
}

function statusDamage({ status }: ListRecord): string | undefined {
  return runStatuses.includes(status) ? undefined : `has the status "${status}"`
}

export async function listRows(
  { read, schema }: Database,
  ...[filter, page]: Parameters<Store['list']>
): ReturnType<Store['list']> {
  const limit = Math.max(page.limit, 0)
  const statuses = acceptedStatuses(filter)
  const { conditions, values } = where(filter, page.before)
  if (statuses.length === 0) return { rows: [] }
  // one more row than requested shows whether there is a next page
  const parameters = [...values, Math.min(limit, Number.MAX_SAFE_INTEGER - 1) + 1]
  const select = selectRows(schema, filter, statuses, conditions, `$${parameters.length}`)
  const records = await read<ListRecord>(select, parameters)
  return cutPage(records.map(toRow), limit)
}

/**
 * One query per status, each ordered by an index. The server merges them until the page is full: it sorts nothing, and
 * reads no more rows than the page has. The forks of a run and the runs of a tree are few: they are read whatever their
 * status.
 */
function selectRows(
  schema: string,
  filter: RunFilter,
  statuses: readonly RunStatus[],
  conditions: readonly string[],
  limit: string,
): string {
  const order = `order by created_at desc, run desc limit ${limit}`
  const select = (status: string): string =>
    `select ${columns} from ${schema}.listing where ${[status, ...conditions].join(' and ')}`
  if (filter.forkedFrom !== undefined || filter.root !== undefined)
    return `${select(`status in (${statuses.map((status) => `'${status}'`).join()})`)} ${order}`
  const pieces = statuses.map((status) => `(${select(`status = '${status}'`)} ${order})`)
  return `select ${columns} from (${pieces.join(' union all ')}) as pieces ${order}`
}

const conditionOn = {
  crew: 'crew =',
  forkedFrom: 'forked_from =',
  root: 'root =',
  createdFrom: 'created_at >=',
  createdTo: 'created_at <',
} as const

function where(filter: RunFilter, before: Cursor | undefined): { conditions: string[]; values: Value[] } {
  const conditions: string[] = []
  const values: Value[] = []
  const parameter = (value: string): string => `$${values.push(value)}`
  for (const name of Object.keys(conditionOn) as (keyof typeof conditionOn)[]) {
    const value = filter[name]
    if (value !== undefined) conditions.push(`${conditionOn[name]} ${parameter(value)}`)
  }
  if (filter.roots) conditions.push('root = run')
  if (before !== undefined) {
    const { createdAt, run } = decodeCursor(before)
    conditions.push(`(created_at, run) < (${parameter(createdAt)}, ${parameter(run)})`)
  }
  return { conditions, values }
}

export async function findOutput(
  { read, schema }: Database,
  ...[crew, task, fingerprint, since = 0]: Parameters<Store['findOutput']>
): ReturnType<Store['findOutput']> {
  const [found] = await read<{ run: string; seq: number; completedAt: number }>(
    `select h.run, o.seq, o.completed_at as "completedAt" from ${schema}.outputs o join ${schema}.heads h on h.id = o.run_id
     where o.crew = $1 and o.task = $2 and o.fingerprint = $3 and o.completed_at >= $4
     order by o.completed_at desc, o.run_id desc, o.seq desc limit 1`,
    [crew, task, fingerprint, Math.ceil(since)],
  )
  return found
}
