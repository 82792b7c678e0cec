// An open database: its one connection, its statements (prepared once), and the two ways to use it. Reads are answered at once
// between commits; writes go through the group commit.
import { dirname } from 'node:path'
import type { StatementSync } from 'node:sqlite'
import { makePrivateFolder } from '../private-folder.ts'
import { storeClosed } from '../refusals.ts'
import { groupCommit } from './group-commit.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open-database.ts'
import { whileBusy } from './sqlite-errors.ts'

export interface Connection {
  readonly url: string
  readonly path: string
  readonly now: () => number
  readonly sql: (text: string) => StatementSync
  read<T>(work: () => T): Promise<T>
  /** Synchronous, in a shared transaction; resolves when it is on disk. */
  write<T>(work: () => T): Promise<T>
  /** Waits for writes under way. Everything after it is refused. */
  close(): Promise<void>
}

/** STORE_INVALID, STORE_NEWER. `path` is absolute. */
export async function openConnection(path: string, now: () => number): Promise<Connection> {
  const url = `sqlite:${path}`
  await makePrivateFolder(dirname(path))
  const db = await openDatabase(path, (opened) => {
    opened.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on')
    migrate(opened, path)
  })
  const statements = new Map<string, StatementSync>()
  let closed = false

  function sql(text: string): StatementSync {
    let statement = statements.get(text)
    if (statement === undefined) {
      statement = db.prepare(text)
      statements.set(text, statement)
    }
    return statement
  }

  const writes = groupCommit(path, { sql, isTransaction: () => db.isTransaction })

  return {
    url,
    path,
    now,
    sql,
    async read(work) {
      return whileBusy(path, () => {
        if (closed) throw storeClosed(url)
        return work()
      })
    },
    async write(work) {
      if (closed) throw storeClosed(url)
      return writes.write(work)
    },
    async close() {
      if (closed) return
      closed = true
      await writes.idle()
      db.close()
    },
  }
}
