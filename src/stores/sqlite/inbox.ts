// Messages: each id once, oldest first. A message to any run of a tree wakes its root.
import { isEnded } from '../../journal/state/state.ts'
import { unknownRunError } from '../rules/refusals.ts'
import type { Message, RunId, Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { findRun, changeRoot, findRoot } from './roots.ts'

export function postMessage(
  connection: Connection,
  ...[run, { id, at, body }]: Parameters<Store['post']>
): ReturnType<Store['post']> {
  const { sql, url } = connection
  return connection.write(() => {
    const found = findRun(connection, run)
    const root = findRoot(connection, run)
    if (found === undefined || root === undefined) throw unknownRunError(run, url)
    if (sql('select 1 from messages where run_id = ? and message = ?').get(found.id, id) !== undefined) return 'exists'
    if (isEnded(found.status) || isEnded(root.status)) return 'ended'
    sql('insert into messages (run_id, message, at, body) values (?, ?, ?, ?)').run(found.id, id, at, body)
    changeRoot(connection, root, { waiting: root.waiting + 1 })
    return 'posted'
  })
}

export async function listMessages(connection: Connection, run: RunId): Promise<Message[]> {
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

export function waitingIds({ sql }: Connection, id: number): string[] {
  return sql('select message from messages where run_id = ? and taken = 0')
    .all(id)
    .map((row) => String(row['message']))
}

/** Returns how many of the messages were waiting. */
export function takeMessages({ sql }: Connection, id: number, messages: readonly string[]): number {
  return messages.reduce((taken, message) => {
    const update = sql('update messages set taken = 1 where run_id = ? and message = ? and taken = 0').run(id, message)
    return taken + Number(update.changes)
  }, 0)
}
