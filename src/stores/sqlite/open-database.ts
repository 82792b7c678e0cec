// Opening a database file, and noticing its removal: what this store and the lease table of a folder have in common.
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { createPrivateFile } from '../private-folder.ts'
import { statSync } from 'node:fs'
import { RepriseError, messageOf } from '../../base/errors.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { migrationsToApply, lastNumber, type AppliedMigrations, type Migration } from '../rules/driver.ts'
import { storeNewerError } from '../rules/refusals.ts'
import { migrations } from './migrations.ts'

/**
 * `prepare` brings it up to date; when it throws, the file is closed again. STORE_INVALID, and what `prepare` throws.
 */
export function openDatabase(path: string, prepare: (db: DatabaseSync) => void): Promise<DatabaseSync> {
  return whileBusy(path, () => {
    let db: DatabaseSync | undefined
    try {
      createPrivateFile(path)
      // No waiting inside SQLite: it would stop the event loop.
      db = new DatabaseSync(path, { timeout: 0 })
      prepare(db)
      return db
    } catch (error) {
      db?.close()
      throw openError(error, path)
    }
  })
}

function openError(error: unknown, path: string): unknown {
  const code = (error as NodeJS.ErrnoException).code
  // Made to look like SQLite's own "cannot open": a file system's refusal is worth the same advice.
  if (code !== undefined && code.startsWith('E') && !code.startsWith('ERR_')) {
    return storeError(Object.assign(new Error((error as Error).message), { errcode: 14 }), path)
  }
  return error
}

/**
 * Remembers a file that this process has just opened: if it is removed or replaced, its handle stays open, but writes
 * no longer reach any path. The returned check throws STORE_FAILED once the path leads to another file or none.
 * `companion`, such as a -wal file, is remembered at the first check that finds it.
 */
export function guardFile(path: string, companion?: string): () => void {
  const first = new Map([[path, fileIdentity(path)]])
  return () => {
    for (const [name, before] of first) if (fileIdentity(name) !== before) throw replacedError(name)
    if (companion === undefined || first.has(companion)) return
    const identity = fileIdentity(companion)
    if (identity !== undefined) first.set(companion, identity)
  }
}

function fileIdentity(path: string): string | undefined {
  // not opened: closing a file drops the locks that this process has on it
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && `${stats.dev} ${stats.ino}`
}

function replacedError(path: string): RepriseError {
  return new RepriseError(
    'STORE_FAILED',
    `${path} was removed or replaced while this process had it open; nothing more was written: restore the file if its runs are still needed, and restart the process`,
  )
}

/** Prepares each statement once. */
export function statementCache(db: DatabaseSync): (text: string) => StatementSync {
  const statements = new Map<string, StatementSync>()
  return (text) => {
    const statement = statements.get(text) ?? db.prepare(text)
    statements.set(text, statement)
    return statement
  }
}

// Maps SQLite's result codes to errors of the port, and waits for locks without blocking the process: SQLite's own busy
// timeout would stop the event loop, and with it every other run and the renewal of leases.

const busy = 5
const locked = 6
const readOnly = 8
const corrupt = 11
const full = 13
const cannotOpen = 14
const notDatabase = 26

/** How long a call waits for another process's lock. */
export const lockWaitMs = 30_000

/** The primary result code; the higher bits are details. */
function resultCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code & 0xff : undefined
}

export function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === busy || code === locked
}

export function isFull(error: unknown): boolean {
  return resultCode(error) === full
}

/** Turns anything thrown while using the database at `path` into an error of the port. */
export function storeError(error: unknown, path: string): RepriseError {
  if (RepriseError.isInstance(error)) return error
  const code = resultCode(error)
  switch (code) {
    case corrupt:
    case notDatabase:
      return new RepriseError(
        'STORE_INVALID',
        `${path} is damaged or isn't a SQLite database (${messageOf(error)}): move it aside to start with an empty store, or replace it with a backup`,
        { cause: error },
      )
    case cannotOpen:
    case readOnly:
      return new RepriseError(
        'STORE_INVALID',
        `${path} cannot be opened for writing (${messageOf(error)}): set REPRISE_STORE or pass \`store\` to use another place`,
        { cause: error },
      )
    case full:
      return new RepriseError(
        'STORE_FAILED',
        `the disk of ${path} is full, and nothing was written: free some space and try again`,
        { cause: error },
      )
    default:
      return new RepriseError('STORE_FAILED', `${path} could not be read or written: ${messageOf(error)}`, {
        cause: error,
      })
  }
}

/** Nothing was written. */
export function lockTimeout(path: string): RepriseError {
  return new RepriseError(
    'STORE_UNAVAILABLE',
    `another process has locked the database ${path} for ${lockWaitMs / 1000} s: stop the program that has an open transaction, and try again`,
  )
}

/** Short at first, with jitter, so that processes that wait for each other don't retry in step. */
export function retryDelay(tries: number): number {
  return 1 + Math.random() * Math.min(2 ** tries, 20)
}

/** Repeats `work` while the database is locked, until the wait is over. */
export async function whileBusy<T>(path: string, work: () => T): Promise<T> {
  const start = performance.now()
  for (let tries = 0; ; tries++) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error)) throw storeError(error, path)
      if (performance.now() - start > lockWaitMs) throw lockTimeout(path)
    }
    await delay(retryDelay(tries))
  }
}

// Migrates a database to this code's layout. Refuses a database of another program, a database that newer code has
// reserved, and one whose migrations differ. All in one transaction under the write lock, so that of two processes that
// open a new file at once the second finds the work done.

/** The layout that this code writes: the number of its last migration. */
export const formatNumber: number = lastNumber(migrations)

/** Identifies our files ("RPRS"), so that no tables are created in the database of another program. */
const applicationId = 0x52505253

/** STORE_NEWER or STORE_INVALID if this code cannot write the database. */
export function migrate(db: DatabaseSync, path: string, known: readonly Migration[] = migrations): void {
  if (pendingIn(db, path, known).length === 0) return
  db.exec('begin immediate')
  try {
    apply(db, pendingIn(db, path, known))
    db.exec('commit')
  } catch (error) {
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}

/**
 * The database's layout number; undefined if it is empty or of another program. STORE_INVALID if this code cannot
 * migrate it.
 */
export function layoutOf(db: DatabaseSync, path: string): number | undefined {
  if (numberOf(db, 'pragma application_id') !== applicationId) return undefined
  const applied = appliedTo(db)
  migrationsToApply(migrations, applied, named(path))
  return Math.max(...applied.keys())
}

function pendingIn(db: DatabaseSync, path: string, known: readonly Migration[]): readonly Migration[] {
  const id = numberOf(db, 'pragma application_id')
  if (id !== applicationId) {
    if (id === 0 && numberOf(db, 'select count(*) from sqlite_master') === 0) return known
    throw new RepriseError(
      'STORE_INVALID',
      `${path} is the database of another program: give Reprise a file of its own, by REPRISE_STORE or \`store\``,
    )
  }
  const oldest = numberOf(db, 'select format from oldest_writer')
  if (oldest > lastNumber(known)) throw storeNewerError(path, oldest, lastNumber(known))
  return migrationsToApply(known, appliedTo(db), named(path))
}

function named(path: string): { readonly store: string; readonly instead: string } {
  return { store: path, instead: 'or move the file aside' }
}

function appliedTo(db: DatabaseSync): AppliedMigrations {
  const rows = db.prepare('select number, checksum from migrations').all()
  return new Map(rows.map((row) => [Number(row['number']), String(row['checksum'])]))
}

function apply(db: DatabaseSync, pending: readonly Migration[]): void {
  db.exec(`pragma application_id = ${applicationId}`)
  db.exec(
    'create table if not exists migrations (number integer primary key, name text not null, checksum text not null, applied_at text not null)',
  )
  const record = db.prepare('insert into migrations (number, name, checksum, applied_at) values (?, ?, ?, ?)')
  for (const { number, name, checksum, sql } of pending) {
    db.exec(sql)
    record.run(number, name, checksum, new Date().toISOString())
  }
}

function numberOf(db: DatabaseSync, sql: string): number {
  return Number(Object.values(db.prepare(sql).get() ?? {})[0])
}
