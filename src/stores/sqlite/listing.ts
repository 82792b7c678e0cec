// What can be asked without reading a journal: rows, pages of them, outputs by what they depend on, and the inbox.
import { decodeCursor } from '../cursor.ts'
import { pageOf } from '../list-page.ts'
import { isEnded, runNotFound } from '../refusals.ts'
import type { Cursor, Message, RunFilter, RunId, RunRow } from '../store.ts'
import type { Connection } from './connection.ts'
import { findLease, rowColumns, rowOf, type RunRecord } from './records.ts'

const columns = ['id', 'run', ...rowColumns].join()

export async function findRow(connection: Connection, run: RunId): Promise<RunRow | undefined> {
  const record = await connection.read(() => connection.sql(`select ${columns} from runs where run = ?`).get(run))
  return record === undefined ? undefined : rowOf(record as unknown as RunRecord)
}

export async function listRows(
  connection: Connection,
  filter: RunFilter,
  page: { limit: number; before?: Cursor },
): Promise<{ rows: RunRow[]; next?: Cursor }> {
  const conditions: string[] = []
  const values: (string | number)[] = []
  function where(condition: string, ...parameters: string[]): void {
    conditions.push(condition)
    values.push(...parameters)
  }
  if (filter.crew !== undefined) where('crew = ?', filter.crew)
  if (filter.parent !== undefined) where('parent = ?', filter.parent)
  if (filter.status !== undefined) {
    where('status in (select value from json_each(?))', JSON.stringify(filter.status))
  }
  if (page.before !== undefined) {
    const { createdAt, run } = decodeCursor(page.before)
    where('(created_at, run) < (?, ?)', createdAt, run)
  }
  const limit = Math.max(page.limit, 0)
  const text = `select ${columns} from runs ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
    order by created_at desc, run desc limit ?`
  // One more than asked for tells whether there is a next page.
  const records = await connection.read(() => connection.sql(text).all(...values, limit + 1))
  return pageOf((records as unknown as RunRecord[]).map(rowOf), limit)
}

export async function findOutput(
  connection: Connection,
  crew: string,
  task: string,
  fingerprint: string,
  since: number,
): Promise<{ run: RunId; seq: number } | undefined> {
  const found = await connection.read(() =>
    connection
      .sql(
        `select r.run, o.seq from outputs o join runs r on r.id = o.run_id
         where o.crew = ? and o.task = ? and o.fingerprint = ? and o.completed_at >= ?
         order by o.completed_at desc, o.id desc limit 1`,
      )
      .get(crew, task, fingerprint, since),
  )
  return found === undefined ? undefined : { run: String(found['run']), seq: Number(found['seq']) }
}

export function postMessage(
  connection: Connection,
  run: RunId,
  message: Message,
): Promise<'posted' | 'exists' | 'ended'> {
  const { sql } = connection
  return connection.write(() => {
    const record = findLease(connection, run)
    if (record === undefined) throw runNotFound(run, connection.url)
    if (sql('select 1 from messages where run_id = ? and message = ?').get(record.id, message.id) !== undefined) {
      return 'exists'
    }
    if (isEnded(record.status)) return 'ended'
    sql('insert into messages (run_id, message, at, body) values (?, ?, ?, ?)').run(
      record.id,
      message.id,
      message.at,
      message.body,
    )
    return 'posted'
  })
}

export async function waitingMessages(connection: Connection, run: RunId): Promise<Message[]> {
  const rows = await connection.read(() =>
    connection
      .sql(
        `select m.message, m.at, m.body from messages m join runs r on r.id = m.run_id
         where r.run = ? and m.taken = 0 order by m.id`,
      )
      .all(run),
  )
  return rows.map((row) => ({ id: String(row['message']), at: String(row['at']), body: String(row['body']) }))
}
