// Queries that read no journal: rows, pages of rows, and outputs by fingerprint.
import { RepriseError } from '../../base/errors.ts'
import { runStatuses } from '../../journal/entries.ts'
import { acceptedStatuses, decodeCursor, cutPage } from '../rules/listing.ts'
import { rowColumns, toRow, type RunRecord } from '../rules/run-record.ts'
import type { Cursor, RunFilter, RunId, RunRow, RunStatus, Store } from '../store.ts'
import { listArguments } from './batch-arguments.ts'
import type { Database } from './database.ts'

export async function findRow({ read, key, url }: Database, run: RunId): Promise<RunRow | undefined> {
  const values = await read<(string | null)[]>(['HMGET', key('run', run), ...rowColumns])
  if (values.every((value) => value === null)) return undefined
  const row = parseRow(run, values)
  if (runStatuses.includes(row.status)) return row
  const words = `run ${run} in ${url} has the status "${row.status}": restore the store from a copy`
  throw new RepriseError('JOURNAL_DAMAGED', words, { runId: run })
}

function parseRow(run: RunId, values: readonly (string | null)[]): RunRow {
  const named = Object.fromEntries(rowColumns.map((name, index) => [name, values[index] ?? '']))
  const record = { ...named, run, format: Number(named['format']), priority: Number(named['priority']) }
  return toRow({ ...record, forked_from: named['forked_from'] || null } as RunRecord)
}

/** Maximum number of rows that one script reads: a script blocks all other clients. */
const rowsPerScript = 200

export async function listRows(
  database: Database,
  ...[filter, page]: Parameters<Store['list']>
): ReturnType<Store['list']> {
  // one more row than requested shows whether there is a next page
  const wanted = Math.max(page.limit, 0) + 1
  const statuses = acceptedStatuses(filter)
  const lists = listKeys(filter, statuses)
  const { from, before } = listRange(filter, page.before)
  const rows: RunRow[] = []
  for (let to: string | undefined = before; to !== undefined && lists.length > 0 && rows.length < wanted;) {
    const [found, last]: [string[][], string] = await database.script('list', [
      ...listArguments(lists, (name) => [name]),
      from,
      to,
      String(Math.min(wanted - rows.length, rowsPerScript)),
      filter.roots ? '1' : '',
      ...listArguments(statuses, (status) => [status]),
      filter.crew ?? '',
      filter.forkedFrom ?? '',
    ])
    rows.push(...found.map(([run = '', ...values]) => parseRow(run, values)))
    to = last === '' ? undefined : `(${last}`
  }
  return cutPage(rows, page.limit)
}

/** Lists that contain all matching runs. The forks of a run and the runs of a tree are few: the script filters them. */
function listKeys({ crew, forkedFrom, root }: RunFilter, statuses: readonly RunStatus[]): string[] {
  if (root !== undefined) return statuses.length === 0 ? [] : [`tree:${root}`]
  if (forkedFrom !== undefined) return statuses.length === 0 ? [] : [`forks:${forkedFrom}`]
  return statuses.map((status) => (crew === undefined ? `list:${status}` : `list:${joinKey(status, crew)}`))
}

/** Must equal `joined` in scripts/common.lua. */
function joinKey(...names: readonly string[]): string {
  return names.map((name) => `${Buffer.byteLength(name)}:${name}`).join('')
}

/** Bounds of a list, which is ordered by creation time and then by id. */
function listRange(
  { createdFrom, createdTo }: RunFilter,
  before: Cursor | undefined,
): { from: string; before: string } {
  const ends = [
    ...(createdTo === undefined ? [] : [createdTo]),
    ...(before === undefined ? [] : [listPosition(decodeCursor(before))]),
  ].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  return {
    from: createdFrom === undefined ? '-' : `[${createdFrom}`,
    before: ends[0] === undefined ? '+' : `(${ends[0]}`,
  }
}

function listPosition({ createdAt, run }: { readonly createdAt: string; readonly run: string }): string {
  return `${createdAt}\0${run}`
}

export async function findOutput(
  { read, key }: Database,
  ...[crew, task, fingerprint, since = 0]: Parameters<Store['findOutput']>
): ReturnType<Store['findOutput']> {
  const outputs = key('outputs', joinKey(crew, task, fingerprint))
  const range = ['+inf', String(since), 'BYSCORE', 'REV', 'LIMIT', '0', '1', 'WITHSCORES']
  const [found, completedAt] = (await read<string[]>(['ZRANGE', outputs, ...range])).flat()
  const [, seq, run] = /^\d+:(\d+):(.*)$/s.exec(found ?? '') ?? []
  return run === undefined ? undefined : { run, seq: Number(seq), completedAt: Number(completedAt) }
}
