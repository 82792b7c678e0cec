// Opens database files, notices their removal, waits for locks, maps SQLite's errors, and applies migrations.
// Everything except the migrations is also used for the leases.db of a file store.
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { createPrivateFile } from '../private-folder.ts'
import { statSync } from 'node:fs'
import { RepriseError, messageOf } from '../../base/errors.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { migrationsToApply, lastNumber, type AppliedMigrations, type Migration } from '../rules/driver.ts'
import { storeNewerError } from '../rules/refusals.ts'
import { migrations } from './migrations.ts'

/**
 * Opens a database, creating the file if missing, and calls `prepare`, which brings the content up to date. Rejects
 * with STORE_INVALID if the file cannot be opened, or with the error that `prepare` throws.
 */
export function openDatabase(path: string, prepare: (db: DatabaseSync) => void): Promise<DatabaseSync> {
  return whileBusy(path, () => {
    let db: DatabaseSync | undefined
    try {
      createPrivateFile(path)
      // SQLite's own waiting would block the event loop
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
  // the file system refused to create the file
  if (code !== undefined && code.startsWith('E') && !code.startsWith('ERR_')) return unwritableError(error, path)
  return error
}

/**
 * Remembers which file this process has just opened. If the file is removed or replaced, its handle stays open, but
 * what is written is lost. The returned check throws STORE_FAILED once the path leads to another file or none.
 * `companion`, such as a -wal file, is remembered at the first check that finds it.
 */
export function guardFile(path: string, companion?: string): () => void {
  const identities = new Map([[path, fileIdentity(path)]])
  return () => {
    for (const [name, before] of identities) if (fileIdentity(name) !== before) throw replacedError(name)
    if (companion === undefined || identities.has(companion)) return
    const identity = fileIdentity(companion)
    if (identity !== undefined) identities.set(companion, identity)
  }
}

function fileIdentity(path: string): string | undefined {
  // `stat` rather than `open`, since closing a file drops the locks that this process has on it
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

// SQLite's result codes become errors of the port. Waiting for locks doesn't block the process, as SQLite's own busy
// timeout would: every other run would stop, and leases would not be renewed.

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
      return unwritableError(error, path)
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

function unwritableError(error: unknown, path: string): RepriseError {
  return new RepriseError(
    'STORE_INVALID',
    `${path} cannot be opened for writing (${messageOf(error)}): set REPRISE_STORE or pass \`store\` to use another file`,
    { cause: error },
  )
}

/** The error after `lockWaitMs`. Nothing was written. */
export function lockTimeoutError(path: string): RepriseError {
  return new RepriseError(
    'STORE_UNAVAILABLE',
    `another process has locked the database ${path} for ${lockWaitMs / 1000} s: stop the program that has an open transaction, and try again`,
  )
}

/** Grows from a few milliseconds, with jitter, so that processes that wait for each other don't retry in step. */
export function retryDelay(tries: number): number {
  return 1 + Math.random() * Math.min(2 ** tries, 20)
}

/** Repeats `work` while another process has locked the database, for up to `lockWaitMs`. */
export async function whileBusy<T>(path: string, work: () => T): Promise<T> {
  const start = performance.now()
  for (let tries = 0; ; tries++) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error)) throw storeError(error, path)
      if (performance.now() - start > lockWaitMs) throw lockTimeoutError(path)
    }
    await delay(retryDelay(tries))
  }
}

// Migrations: all are applied in one transaction under the write lock, so if two processes open a new file at once, the
// second finds the work done. The database of another program, a database that this code is too old to write, and a
// database whose migrations differ are refused.

/** The layout that this code writes: the number of its last migration. */
export const formatNumber: number = lastNumber(migrations)

/** Identifies our files ("RPRS"), so that no tables are created in the database of another program. */
const applicationId = 0x52505253

/** Applies missing migrations. Throws STORE_NEWER or STORE_INVALID if this code cannot write the database. */
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
 * Returns the number of the database's layout; undefined if it is empty or of another program. Throws STORE_INVALID if
 * this code cannot migrate it.
 */
export function layoutOf(db: DatabaseSync, path: string): number | undefined {
  if (numberOf(db, 'pragma application_id') !== applicationId) return undefined
  const applied = appliedTo(db)
  migrationsToApply(migrations, applied, namesFor(path))
  return Math.max(...applied.keys())
}

function pendingIn(db: DatabaseSync, path: string, known: readonly Migration[]): readonly Migration[] {
  const id = numberOf(db, 'pragma application_id')
  if (id !== applicationId) {
    if (id === 0 && numberOf(db, 'select count(*) from sqlite_master') === 0) return known
    throw new RepriseError(
      'STORE_INVALID',
      `${path} is the database of another program: set REPRISE_STORE or pass \`store\` to use another file`,
    )
  }
  const oldest = numberOf(db, 'select format from oldest_writer')
  if (oldest > lastNumber(known)) throw storeNewerError(path, oldest, lastNumber(known))
  return migrationsToApply(known, appliedTo(db), namesFor(path))
}

/** The words for the errors of `migrationsToApply`. */
function namesFor(path: string): { readonly store: string; readonly alternative: string } {
  return { store: path, alternative: 'or move the file aside' }
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
